// A slot's active version, candidate and previous version, with the actions on them.

import { promote, putInShadow, rollBack, setShare } from "./changes.js";
import { foldedComparison } from "./comparison.js";
import { facts, h, pairs, setText, whenChanged } from "../parts/dom.js";
import { bytes, lasting, milliseconds, moment, short, whole } from "../parts/format.js";
import { may } from "../session.js";
import { share } from "../parts/share.js";
import { sinceWhen } from "../parts/state.js";

/** Returns the properties of a version. */
export const made = (version) => [
  ["component", h("code", { title: version.component }, short(version.component))],
  ["from", version.source],
  ["size", bytes(version.bytes)],
  ["signed by", version.signed_by],
  ["memory", `${bytes(version.memory_bytes)} per call at most`],
  ["processor", `${milliseconds(version.cpu_ms)} per call at most`],
  ["grants", version.grants.join(", ")],
];

/** Returns the share and counts of a version. */
const done = (version) => [
  ["share", version.shadow ? "in shadow" : `${version.weight} %`],
  ["calls", whole(version.calls)],
  ["failures", whole(version.failures)],
  ["errors", whole(version.errors)],
  ["in flight", whole(version.in_flight)],
];

function card(place, title, answers) {
  const name = h("p");
  const figures = h("dl", { class: "figures" });
  const more = h("div");
  const compared = foldedComparison(place, "Changes");
  const element = h(
    "div",
    { class: "version-card", hidden: true },
    h("h3", {}, title),
    name,
    figures,
    h("details", {}, h("summary", {}, "Details"), more),
    compared.element,
  );
  const showMade = whenChanged((version) => more.replaceChildren(facts(made(version))));
  function update(version) {
    element.hidden = !version;
    if (!version) return;
    const at = sinceWhen(version);
    name.replaceChildren(h("code", {}, short(version.id)), ...(at && answers ? [" since ", moment(at), ", ", lasting(at)] : []));
    if (answers) figures.replaceChildren(...pairs(done(version)));
    const { id, component, source, bytes, signed_by, memory_bytes, cpu_ms, grants } = version;
    compared.update(id);
    showMade({ id, component, source, bytes, signed_by, memory_bytes, cpu_ms, grants });
  }
  return { element, update };
}

function candidateActions(place) {
  const button = h("button", { type: "button", click: () => setShare(place, slider.value()) }, "Set share");
  let present = 0;
  let moved = false;
  const slider = share("share", "Candidate’s share of the calls", 0, (value) => {
    moved = value !== present;
    button.disabled = !moved;
  });
  const toShadow = h("button", { type: "button", click: () => putInShadow(place) }, "Put it in shadow…");
  const element = h(
    "div",
    { class: "actions", hidden: true },
    slider.element,
    button,
    toShadow,
    h("button", { type: "button", click: () => promote(place) }, "Promote…"),
  );
  function update({ candidate }) {
    element.hidden = !candidate;
    toShadow.hidden = !place.canShadow || Boolean(candidate?.shadow);
    const weight = candidate?.weight ?? 0;
    if (weight === present) return;
    present = weight;
    // A slider that the operator has moved keeps its value, unless the candidate is gone.
    slider.set(moved && candidate ? slider.value() : present);
  }
  return { element, update };
}

/** The panel. */
export function versions(place) {
  const cards = [
    ["Active", true, (slot) => slot.active],
    ["Candidate", true, (slot) => slot.candidate],
    ["Previous", false, (slot) => slot.predecessor],
  ].map(([title, answers, of]) => ({ card: card(place, title, answers), of }));
  const empty = h("pre", { class: "problem" });
  const back = h("button", { type: "button", class: "danger", hidden: true, click: () => rollBack(place) });
  const candidate = candidateActions(place);
  const actions = h("div", { class: "actions" }, candidate.element, back);
  const element = h(
    "section",
    { class: "sheet", "aria-labelledby": "versions-title" },
    h("h2", { id: "versions-title" }, "Versions"),
    empty,
    h("div", { class: "version-cards" }, ...cards.map(({ card }) => card.element)),
    ...(may("deploy") ? [actions] : []),
  );
  function update(slot) {
    for (const { card, of } of cards) card.update(of(slot));
    empty.hidden = !slot.empty;
    setText(empty, slot.empty ?? "");
    candidate.update(slot);
    actions.hidden = back.hidden = !slot.candidate && !slot.predecessor;
    const giveUp = slot.candidate?.shadow ? "End the shadow…" : "Remove the candidate…";
    setText(back, slot.candidate ? giveUp : "Roll back…");
  }
  return { element, update };
}
