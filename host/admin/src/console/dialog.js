// Asks before something changes, for the reason as well, and shows the error when it fails.

import { announce, h } from "./dom.js";
import { problem } from "./problem.js";

/** Characters; the API takes so many bytes at least. */
const REASON = "250";

/** Opens a dialog; `run` gets the reason and makes the change, after which `done` is announced. */
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
      // Somebody else was faster: what this dialog says is no longer so.
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
    h("label", { for: "reason" }, "Reason, for the audit log (may be empty)"),
    reason,
    answer,
    h("div", { class: "buttons" }, go, cancel),
  );
  const dialog = h("dialog", { "aria-labelledby": "dialog-title", close: () => dialog.remove() }, form);
  document.body.append(dialog);
  dialog.showModal();
}

/** Closes whatever is open. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}
