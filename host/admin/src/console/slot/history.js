// The versions that a slot remembers, with the actions on each.

import { putInShadow, swap, tryOut } from "./changes.js";
import { comparison } from "./comparison.js";
import { facts, h, rows, whenChanged } from "../parts/dom.js";
import { moment, short } from "../parts/format.js";
import { moves } from "./moves.js";
import { may } from "../session.js";
import { stageOf, stagePill } from "../parts/state.js";
import { made } from "./versions.js";

/** Stages of versions that have passed their self-test and answer no calls. */
const READY = ["trialled", "draining", "retired"];

function row(place) {
  return ({ version: { id } }) => {
    const summary = h("summary");
    const more = h("div");
    const compared = comparison(place, id);
    const toSwap = h("button", { type: "button", click: () => swap(place, id) }, "Swap to it…");
    const toTry = h("button", { type: "button", click: () => tryOut(place, id) }, "Start canary…");
    const toShadow = h("button", { type: "button", click: () => putInShadow(place, id) }, "Put it in shadow…");
    const actions = h("div", { class: "actions" }, toSwap, toTry, toShadow);
    const folded = h(
      "details",
      { toggle: () => folded.open && compared.update() },
      summary,
      more,
      compared.element,
      ...(may("deploy") ? [actions] : []),
    );
    const element = h("li", {}, folded);
    const show = whenChanged((version) => {
      const { at } = version.moves.at(-1);
      const line = [
        h("code", {}, short(version.id)),
        stagePill(version),
        h("span", { class: "source" }, version.source),
        h("span", { class: "quiet" }, moment(at)),
      ];
      summary.replaceChildren(h("span", { class: "line-up" }, ...line));
      more.replaceChildren(moves(version.moves), facts(made(version)));
    });
    function update({ version, slot }) {
      show(version);
      if (folded.open) compared.update();
      const ready = READY.includes(stageOf(version));
      toSwap.hidden = !ready;
      toTry.hidden = !ready || !slot.active || Boolean(slot.candidate);
      toShadow.hidden = toTry.hidden || !place.canShadow;
      actions.hidden = toSwap.hidden && toTry.hidden;
    }
    return { element, update };
  };
}

/** The panel. */
export function versionHistory(place) {
  const list = h("ul", { class: "history" });
  const updateRows = rows(list, ({ version }) => version.id, row(place));
  const element = h(
    "section",
    { class: "sheet", "aria-labelledby": "history-title" },
    h("h2", { id: "history-title" }, "History"),
    list,
  );
  // Newest first.
  const update = (slot, versions) => updateRows(versions.toReversed().map((version) => ({ version, slot })));
  return { element, update };
}
