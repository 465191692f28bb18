// The states of slots and versions as text.

import { h } from "./dom.js";

const pill = (kind, text) => h("span", { class: `pill ${kind}` }, text);

/** Returns a slot's state and its candidate's as pills. */
export function pills({ active, candidate, kept }) {
  const found = [];
  if (!active) found.push(pill("bad", "empty"));
  else if (active.circuit_open) found.push(pill("bad", "circuit open"));
  else found.push(pill("good", "answering"));
  if (candidate) found.push(pill("tried", candidate.shadow ? "candidate in shadow" : `candidate ${candidate.weight} %`));
  if (kept === false) found.push(pill("bad", "not on disk yet"));
  return found;
}

/** Returns a version's stage. */
export const stageOf = ({ moves }) => moves.at(-1)?.stage ?? "received";

/** Returns a version's stage as a pill. */
export function stagePill(version) {
  const stage = stageOf(version);
  const kinds = { active: "good", candidate: "tried", refused: "bad" };
  return pill(kinds[stage] ?? "plain", stage);
}

/** Returns the time since which a version answers. */
export const sinceWhen = ({ moves }) => moves.findLast(({ stage }) => stage === "active" || stage === "candidate")?.at;
