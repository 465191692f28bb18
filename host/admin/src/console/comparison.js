// In what a version differs from the one that answers.

import { diff } from "./api.js";
import { facts, h } from "./dom.js";
import { bytes, short } from "./format.js";
import { problem } from "./problem.js";

const side = (value) => (value === null ? h("span", { class: "quiet" }, "not set") : h("code", {}, value === "" ? "empty" : value));

const change = (before, after) => h("span", {}, side(before), " → ", side(after));

/** Names that only one of the two has. */
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

/** What the version changes; `update` compares anew once another one answers. */
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
    title.replaceChildren("Against ", h("code", {}, short(active)), ", which answers");
    try {
      body.replaceChildren(...found(await diff(place.name, active, version)));
    } catch (error) {
      // Asked again with the next update.
      against = undefined;
      body.replaceChildren(problem(error));
    }
  }
  return { element, update };
}

/** The same, folded up; it is asked for once somebody looks. */
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
