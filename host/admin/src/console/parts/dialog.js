// Asks for confirmation and a reason before a change, and shows the error if the change fails.

import { announce, h } from "./dom.js";
import { problem } from "./problem.js";

/** Most characters of a reason; the API accepts at least as many bytes. */
const REASON = "250";

/** Opens a dialog; `run` gets the reason and makes the change, then the dialog announces `done`. */
export function confirm({ title, about = [], verb, kind = "main", run, done }) {
  const reason = h("input", { id: "reason", maxlength: REASON, autocomplete: "off" });
  const answer = h("div", { role: "alert" });
  const go = h("button", { class: kind }, verb);
  const cancel = h("button", { type: "button", click: () => dialog.close() }, "Cancel");

  async function submit(event) {
    event.preventDefault();
    go.disabled = true;
    answer.replaceChildren();
    try {
      await run(reason.value);
      dialog.close();
      announce(done);
    } catch (error) {
      answer.append(problem(error));
      // Another operator has changed the slot: what this dialog shows is out of date.
      go.hidden = error.code === "conflict";
      cancel.textContent = "Close";
      cancel.focus();
    }
    go.disabled = false;
  }

  const form = h(
    "form",
    { submit },
    h("h2", { id: "dialog-title" }, title),
    ...about,
    h("label", { for: "reason" }, "Reason, for the audit log (optional)"),
    reason,
    answer,
    h("div", { class: "buttons" }, go, cancel),
  );
  const dialog = h("dialog", { "aria-labelledby": "dialog-title", close: () => dialog.remove() }, form);
  document.body.append(dialog);
  dialog.showModal();
}

/** Closes every open dialog. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}
