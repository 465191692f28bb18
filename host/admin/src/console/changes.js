// Changes of what answers, each asked about first. `place` is the slot that is looked at: its name, `slot` for what it
// does now, `refresh`, and whether the host `canShadow`.

import { change } from "./api.js";
import { comparison } from "./comparison.js";
import { confirm } from "./dialog.js";
import { h } from "./dom.js";
import { short } from "./format.js";
import { share } from "./share.js";

const DEFAULT_SHARE = 10;

const text = (...parts) => h("p", {}, ...parts);
/** What the version changes, for the dialogs that have it answer. */
function changes(place, version) {
  const compared = comparison(place, version);
  compared.update();
  return compared.element;
}

const code = (id) => h("code", {}, short(id));

/** The generation that a slot should have: a host that compiles what all hosts should have does not have it yet. */
const latest = ({ generation, shared }) => Math.max(generation, shared?.desired ?? generation);

function ask(place, what, { body = () => ({}), ...dialog }) {
  const generation = latest(place.slot());
  const run = async (reason) => {
    try {
      await change(place.name, what, { ...body(), generation, reason });
    } finally {
      place.refresh();
    }
  };
  confirm({ ...dialog, run });
}

/** This version answers every call. */
export function swap(place, version) {
  const { active, candidate } = place.slot();
  const about = [text("It answers every call from then on", ...(active ? [" in place of ", code(active.id)] : []), ".")];
  if (candidate && candidate.id !== version) about.push(text("The candidate ", code(candidate.id), " is given up."));
  about.push(changes(place, version));
  ask(place, "swap", {
    title: `Swap ${place.name} to ${short(version)}?`,
    about,
    verb: "Swap",
    body: () => ({ version }),
    done: `${place.name} now answers with ${short(version)}.`,
  });
}

/** This version answers a share of the calls. */
export function tryOut(place, version) {
  const weight = share("first-share", "Share of the calls", DEFAULT_SHARE);
  ask(place, "canary", {
    title: `Try ${short(version)} in ${place.name}?`,
    about: [text("Each client stays with one version while the share stands."), weight.element, changes(place, version)],
    verb: "Try it",
    body: () => ({ version, weight: weight.value() }),
    done: `${short(version)} is tried in ${place.name}.`,
  });
}

/** This version, or the candidate, gets copies of the calls and answers none. */
export function putInShadow(place, version) {
  const named = version ?? place.slot().candidate.id;
  ask(place, "shadow", {
    title: `Put ${short(named)} of ${place.name} in shadow?`,
    about: [text("It gets copies of the calls, writes nothing and answers nobody; its answers are compared.")],
    verb: "Put it in shadow",
    body: () => ({ version }),
    done: `${short(named)} of ${place.name} is in shadow.`,
  });
}

/** The candidate answers another share. */
export function setShare(place, weight) {
  const { candidate } = place.slot();
  ask(place, "canary", {
    title: `Give the candidate ${weight} % of the calls?`,
    about: [text(candidate.shadow ? "So far it is in shadow." : `So far it has ${candidate.weight} %.`)],
    verb: `Set ${weight} %`,
    body: () => ({ weight }),
    done: `The candidate of ${place.name} answers ${weight} % of the calls.`,
  });
}

/** The candidate answers every call. */
export function promote(place) {
  const { active, candidate } = place.slot();
  ask(place, "promote", {
    title: `Promote the candidate of ${place.name}?`,
    about: [text(code(candidate.id), " answers every call in place of ", code(active.id), "."), changes(place, candidate.id)],
    verb: "Promote",
    done: `The candidate of ${place.name} answers every call.`,
  });
}

/** The candidate goes; without one, the version before comes back. */
export function rollBack(place) {
  const { active, candidate, predecessor } = place.slot();
  const about = candidate
    ? text("The candidate ", code(candidate.id), " is given up; ", code(active.id), " answers every call.")
    : text(code(predecessor.id), " answers again", ...(active ? [" in place of ", code(active.id)] : []), ".");
  const title = candidate?.shadow ? `End the shadow of ${place.name}?` : `Give up the candidate of ${place.name}?`;
  ask(place, "rollback", {
    title: candidate ? title : `Roll ${place.name} back?`,
    about: candidate ? [about] : [about, changes(place, predecessor.id)],
    verb: candidate?.shadow ? "End it" : candidate ? "Give it up" : "Roll back",
    kind: "danger",
    done: candidate ? `The candidate of ${place.name} is given up.` : `${place.name} is rolled back.`,
  });
}
