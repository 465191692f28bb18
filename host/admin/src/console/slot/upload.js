// Uploads a component and shows the result of its checks before it answers calls.

import { history, push } from "../api.js";
import { putInShadow, swap, tryOut } from "./changes.js";
import { comparison } from "./comparison.js";
import { announce, facts, h } from "../parts/dom.js";
import { short } from "../parts/format.js";
import { latest, moves } from "./moves.js";
import { problem } from "../parts/problem.js";
import { made } from "./versions.js";

/** Returns the state of an accepted version as text. */
function state({ answering, moves }) {
  if (answering) return "already answers";
  return moves.at(-1)?.stage === "candidate" ? "is already the candidate" : "passed its checks";
}

/** Shows an accepted version; `update` hides actions that are no longer possible. */
function passed(place, version) {
  const toTry = h("button", { type: "button", click: () => tryOut(place, version.id) }, "Start canary…");
  const toShadow = h("button", { type: "button", click: () => putInShadow(place, version.id) }, "Put it in shadow…");
  const compared = comparison(place, version.id);
  const actions = h(
    "div",
    { class: "actions" },
    h("button", { type: "button", class: "main", click: () => swap(place, version.id) }, "Swap to it…"),
    toTry,
    toShadow,
  );
  const element = h(
    "div",
    { class: "verdict good" },
    h("h3", { tabindex: "-1" }, `${short(version.id)} ${state(version)}`),
    moves(latest(version.moves)),
    facts(made(version)),
    compared.element,
    actions,
  );
  function update({ active, candidate }) {
    actions.hidden = [active?.id, candidate?.id].includes(version.id);
    toTry.hidden = !active || Boolean(candidate);
    toShadow.hidden = toTry.hidden || !place.canShadow;
    compared.update();
  }
  update(place.slot());
  return { element, update };
}

async function refused(place, error) {
  const parts = [h("h3", { tabindex: "-1" }, error.code === "refused" ? "The component was refused" : "The upload failed")];
  if (error.code === "refused" && error.version) {
    const known = (await history(place.name).catch(() => [])).find(({ id }) => id === error.version);
    if (known) parts.push(moves(latest(known.moves).filter(({ stage }) => stage !== "refused")));
  }
  return { element: h("div", { class: "verdict bad" }, ...parts, problem(error)), update: () => {} };
}

/** The panel. */
export function upload(place) {
  const component = h("input", { id: "component", type: "file", accept: ".wasm,application/wasm", required: true });
  const signature = h("input", { id: "signature", type: "file", accept: ".minisig" });
  const button = h("button", {}, "Upload and check");
  const verdict = h("div");
  let outcome;

  async function submit(event) {
    event.preventDefault();
    const [file] = component.files;
    button.disabled = true;
    verdict.replaceChildren(h("p", {}, "The host checks and compiles the component and runs its self-test…"));
    announce("Upload started.");
    try {
      const signed = await signature.files[0]?.text();
      outcome = passed(place, await push(place.name, file, signed));
    } catch (error) {
      outcome = await refused(place, error);
    }
    verdict.replaceChildren(outcome.element);
    // Focus makes a screen reader read the result, and the actions come next by keyboard.
    outcome.element.querySelector("h3").focus();
    button.disabled = false;
    place.refresh();
  }

  const field = (label, input) => h("div", { class: "field" }, h("label", { for: input.id }, label), input);
  const element = h(
    "section",
    { class: "sheet", "aria-labelledby": "upload-title" },
    h("h2", { id: "upload-title" }, "New component"),
    h(
      "form",
      { class: "upload", submit },
      field("Component (.wasm)", component),
      field("Signature (.minisig), if the slot requires one", signature),
      h("p", { class: "quiet" }, "The host checks and compiles the component and runs its self-test. It answers no call until you swap to it or start a canary."),
      button,
    ),
    verdict,
  );
  return { element, update: (slot) => outcome?.update(slot) };
}
