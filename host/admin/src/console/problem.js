// Errors as they are shown: the API's word for programs, and its text with its lines.

import { h } from "./dom.js";

/** What went wrong. */
export function problem(error) {
  const later = error.retryAfter ? ` Try again in ${error.retryAfter} s.` : "";
  return h(
    "div",
    { class: "problem" },
    h("strong", {}, error.code ?? "error"),
    h("pre", {}, `${error.message}${later}`),
  );
}
