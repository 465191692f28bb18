// Calls this host's services, and connects forms to such calls.

import { h } from "./dom.js";

/** Returns the message of an error body, whichever service sent it. */
function reason(body) {
  if (typeof body !== "object" || body === null) return undefined;
  const { message, detail, meta } = body;
  if (typeof message === "string") return message;
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail)) return detail.map((violation) => violation?.msg).join("; ");
  return detail?.message ?? meta?.message;
}

/** Fetches JSON; with `body` it is a POST. An error's text is the service's message. */
export async function call(path, { body, headers = {}, accepts = [] } = {}) {
  const init = { headers: { accept: "application/json", ...headers }, credentials: "omit" };
  if (body !== undefined) {
    Object.assign(init, { method: "POST", body: JSON.stringify(body) });
    init.headers["content-type"] = "application/json";
  }
  const response = await fetch(path, init);
  const answer = await response.json().catch(() => undefined);
  if (!response.ok && !accepts.includes(response.status)) {
    throw new Error(`${response.status}: ${reason(answer) ?? response.statusText}`);
  }
  return answer;
}

/** Returns the `Authorization` header for a key, or no header for an empty key. */
export const bearer = (key) => (key === "" ? {} : { authorization: `Bearer ${key}` });

/**
 * Runs `action` when a section's form is submitted, and shows the elements that it returns, or the error. The section's
 * buttons are disabled meanwhile; then `done` is called. Returns the function that runs an action.
 */
export function form(section, action, done = () => {}) {
  const run = async (event, taken = action) => {
    event?.preventDefault();
    await show(section, taken);
    done();
  };
  section.querySelector("form").addEventListener("submit", run);
  return run;
}

async function show(section, action) {
  const answer = section.querySelector(".answer");
  const buttons = [...section.querySelectorAll("button")].filter((button) => !button.disabled);
  buttons.forEach((button) => (button.disabled = true));
  section.setAttribute("aria-busy", "true");
  try {
    answer.replaceChildren(...(await action()));
  } catch (error) {
    answer.replaceChildren(h("p", { class: "problem" }, String(error.message ?? error)));
  }
  section.removeAttribute("aria-busy");
  buttons.forEach((button) => (button.disabled = false));
}

/** Shows the field for a key if the service's OpenAPI document says that calls need one. */
export async function askForKey(section, description) {
  const described = await call(description).catch(() => undefined);
  section.querySelector(".key").hidden = (described?.security ?? []).length === 0;
}
