// Changes to the version that answers, each with a dialog that asks for confirmation. `place` is the slot that is shown:
// its name, `slot` for its present state, `refresh`, and whether the host `canShadow`.

import { change } from "../api.js";
import { comparison } from "./comparison.js";
import { confirm } from "../parts/dialog.js";
import { h } from "../parts/dom.js";
import { short } from "../parts/format.js";
import { share } from "../parts/share.js";

const DEFAULT_SHARE = 10;

const text = (...parts) => h("p", {}, ...parts);

/** Returns what the version changes, for the dialogs. */
function changes(place, version) {
  const compared = comparison(place, version);
  compared.update();
  return compared.element;
}

const code = (id) => h("code", {}, short(id));

/** Returns the desired generation; a host that still compiles a version has applied an earlier one. */
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

/** Asks to swap to this version. */
export function swap(place, version) {
  const { active, candidate } = place.slot();
  const about = [text("It will answer every call", ...(active ? [" in place of ", code(active.id)] : []), ".")];
  if (candidate && candidate.id !== version) about.push(text("The candidate ", code(candidate.id), " is removed."));
  about.push(changes(place, version));
  ask(place, "swap", {
    title: `Swap ${place.name} to ${short(version)}?`,
    about,
    verb: "Swap",
    body: () => ({ version }),
    done: `${place.name} now answers with ${short(version)}.`,
  });
}

/** Asks to make this version a canary. */
export function tryOut(place, version) {
  const weight = share("first-share", "Share of the calls", DEFAULT_SHARE);
  ask(place, "canary", {
    title: `Start a canary with ${short(version)} in ${place.name}?`,
    about: [text("Each client stays with one version while the share does not change."), weight.element, changes(place, version)],
    verb: "Start canary",
    body: () => ({ version, weight: weight.value() }),
    done: `${short(version)} is a canary in ${place.name}.`,
  });
}

/** Asks to put this version, or the candidate, in shadow. */
export function putInShadow(place, version) {
  const named = version ?? place.slot().candidate.id;
  ask(place, "shadow", {
    title: `Put ${short(named)} of ${place.name} in shadow?`,
    about: [text("It gets copies of the calls, writes nothing and answers no client. Its answers are compared.")],
    verb: "Put it in shadow",
    body: () => ({ version }),
    done: `${short(named)} of ${place.name} is in shadow.`,
  });
}

/** Asks to change the candidate's share. */
export function setShare(place, weight) {
  const { candidate } = place.slot();
  ask(place, "canary", {
    title: `Give the candidate ${weight} % of the calls?`,
    about: [text(candidate.shadow ? "It is in shadow now." : `It has ${candidate.weight} % now.`)],
    verb: `Set ${weight} %`,
    body: () => ({ weight }),
    done: `The candidate of ${place.name} answers ${weight} % of the calls.`,
  });
}

/** Asks to promote the candidate. */
export function promote(place) {
  const { active, candidate } = place.slot();
  ask(place, "promote", {
    title: `Promote the candidate of ${place.name}?`,
    about: [text(code(candidate.id), " answers every call in place of ", code(active.id), "."), changes(place, candidate.id)],
    verb: "Promote",
    done: `The candidate of ${place.name} answers every call.`,
  });
}

/** Asks to remove the candidate or, without one, to return to the previous version. */
export function rollBack(place) {
  const { active, candidate, predecessor } = place.slot();
  const about = candidate
    ? text("The candidate ", code(candidate.id), " is removed; ", code(active.id), " answers every call.")
    : text(code(predecessor.id), " answers again", ...(active ? [" in place of ", code(active.id)] : []), ".");
  const title = candidate?.shadow ? `End the shadow of ${place.name}?` : `Remove the candidate of ${place.name}?`;
  ask(place, "rollback", {
    title: candidate ? title : `Roll ${place.name} back?`,
    about: candidate ? [about] : [about, changes(place, predecessor.id)],
    verb: candidate?.shadow ? "End it" : candidate ? "Remove it" : "Roll back",
    kind: "danger",
    done: candidate ? `The candidate of ${place.name} is removed.` : `${place.name} is rolled back.`,
  });
}
