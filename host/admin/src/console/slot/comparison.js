// Compares a version with the active one.

import { diff } from "../api.js";
import { facts, h } from "../parts/dom.js";
import { bytes, short } from "../parts/format.js";
import { problem } from "../parts/problem.js";

const side = (value) => (value === null ? h("span", { class: "quiet" }, "not set") : h("code", {}, value === "" ? "empty" : value));

const change = (before, after) => h("span", {}, side(before), " → ", side(after));

/** Lists names that only one of the two versions has. */
function names({ only_a: gone, only_b: added }) {
  if (gone.length + added.length === 0) return undefined;
  const line = (kind) => (name) => h("li", {}, h("span", { class: `stage ${kind}` }, kind), " ", h("code", {}, name));
  return h("ul", {}, ...added.map(line("new")), ...gone.map(line("gone")));
}

function found({ a, b, same_component: same, imports, exports, settings }) {
  const packages = [a, b].map((side) => side.packages.join(", "));
  const rows = [
    ["component", same ? "the same" : change(short(a.component), short(b.component))],
    ["size", same ? undefined : `${bytes(a.bytes)} → ${bytes(b.bytes)}`],
    ["built for", packages[0] === packages[1] ? undefined : change(...packages)],
    ["imports", names(imports)],
    ["exports", names(exports)],
    ...settings.map(({ key, a, b }) => [key, change(a, b)]),
  ];
  const more = rows.slice(2).some(([, value]) => value !== undefined);
  return [facts(rows), ...(more ? [] : [h("p", { class: "quiet" }, "Imports, exports and settings are the same.")])];
}

/** Shows what the version changes; `update` compares again after another version has become active. */
export function comparison(place, version) {
  const title = h("p", { class: "quiet" });
  const body = h("div");
  const element = h("div", { class: "comparison", hidden: true }, title, body);
  let against;
  async function update() {
    const active = place.slot().active?.id;
    element.hidden = !active || active === version;
    if (element.hidden || active === against) return;
    against = active;
    title.replaceChildren("Compared with ", h("code", {}, short(active)), ", the active version");
    try {
      body.replaceChildren(...found(await diff(place.name, active, version)));
    } catch (error) {
      // The next update tries again.
      against = undefined;
      body.replaceChildren(problem(error));
    }
  }
  return { element, update };
}

/** The same, collapsed; it is fetched when an operator opens it. */
export function foldedComparison(place, summary) {
  const holder = h("div");
  const element = h("details", { toggle: () => look() }, h("summary", {}, summary), holder);
  let of;
  let compared;
  const look = () => element.open && compared?.update();
  function update(version) {
    element.hidden = [undefined, version].includes(place.slot().active?.id);
    if (version !== of) {
      of = version;
      compared = comparison(place, version);
      holder.replaceChildren(compared.element);
    }
    look();
  }
  return { element, update };
}
