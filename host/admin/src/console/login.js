// The log-in form.

import { ApiError, tokenOf } from "./api.js";
import { h } from "./parts/dom.js";
import { problem } from "./parts/problem.js";

/** Characters of a token that a header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;

function checked(text) {
  const token = text.trim();
  if (TOKEN.test(token)) return token;
  const message = "a token has only letters, digits and ASCII punctuation, but this text has other characters, such as a space or typographic quotes; paste only the token";
  throw new ApiError(0, { error: "not-a-token", message });
}

/** A form that calls `enter` with a token, its name and its scope. `left` is the error that ended the last session. */
export function login(enter, left) {
  const field = h("input", {
    id: "token",
    type: "password",
    required: true,
    autocomplete: "current-password",
    spellcheck: "false",
    "aria-describedby": "token-hint",
  });
  const button = h("button", { class: "main" }, "Log in");
  const answer = h("div", { role: "alert" });
  if (left) answer.append(problem(left));

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    answer.replaceChildren();
    try {
      const token = checked(field.value);
      enter(token, await tokenOf(token));
    } catch (error) {
      answer.append(problem(error));
      field.select();
      field.focus();
    }
    button.disabled = false;
  }

  const form = h(
    "form",
    { class: "sheet login", submit },
    h("h1", { tabindex: "-1" }, "Log in"),
    h("label", { for: "token" }, "Operator’s token"),
    field,
    h(
      "p",
      { id: "token-hint", class: "quiet" },
      h("code", {}, "bulkhead admin token NAME --scope deploy"),
      " makes a token; without --scope it can only read. The token stays in this tab.",
    ),
    answer,
    button,
  );
  return { element: form, title: "Log in", focus: () => field.focus() };
}
