// In what state slots and versions are, in words.

import { h } from "./dom.js";

const pill = (kind, text) => h("span", { class: `pill ${kind}` }, text);

/** A slot's state: what answers, and what is tried. */
export function pills({ active, candidate, kept }) {
  const found = [];
  if (!active) found.push(pill("bad", "empty"));
  else if (active.circuit_open) found.push(pill("bad", "circuit open"));
  else found.push(pill("good", "answering"));
  if (candidate) found.push(pill("tried", candidate.shadow ? "candidate in shadow" : `candidate ${candidate.weight} %`));
  if (kept === false) found.push(pill("bad", "not written yet"));
  return found;
}

/** Where a version stands. */
export const stageOf = ({ moves }) => moves.at(-1)?.stage ?? "received";

/** A version's stage as a pill. */
export function stagePill(version) {
  const stage = stageOf(version);
  const kinds = { active: "good", candidate: "tried", refused: "bad" };
  return pill(kinds[stage] ?? "plain", stage);
}

/** Since when a version answers. */
export const sinceWhen = ({ moves }) => moves.findLast(({ stage }) => stage === "active" || stage === "candidate")?.at;
