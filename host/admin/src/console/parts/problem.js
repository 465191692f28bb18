// Shows errors: the API's code and its message.

import { h } from "./dom.js";

/** Makes the element of an error. */
export function problem(error) {
  const later = error.retryAfter ? ` Try again in ${error.retryAfter} s.` : "";
  return h(
    "div",
    { class: "problem" },
    h("strong", {}, error.code ?? "error"),
    h("pre", {}, `${error.message}${later}`),
  );
}
