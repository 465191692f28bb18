// Calls the host's API, `/v1`, with the token in a header.

import { currentToken } from "./session.js";

const HOST = new URL("../", import.meta.url);

/** An error answer of the API: status, code and message. */
export class ApiError extends Error {
  constructor(status, { error, message, version }, retryAfter) {
    super(message);
    this.status = status;
    this.code = error;
    this.version = version;
    this.retryAfter = retryAfter;
  }
}

async function fetchJson(path, init) {
  let response;
  try {
    response = await fetch(new URL(path, HOST), { ...init, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { error: "unreachable", message: "the host does not answer" });
  }
  const body = await response.json().catch(() => null);
  if (body === null || typeof body !== "object") {
    const message = `the host answered ${response.status} without JSON`;
    throw new ApiError(response.status, { error: "unreadable", message });
  }
  return { response, body };
}

async function call(path, { headers = {}, token = currentToken(), ...init } = {}) {
  const authorized = { ...headers, authorization: `Bearer ${token}` };
  const { response, body } = await fetchJson(path, { ...init, headers: authorized });
  if (response.ok) return body;
  const error = new ApiError(response.status, body, response.headers.get("retry-after"));
  if (error.status === 401) dispatchEvent(new CustomEvent("unauthorized", { detail: error }));
  throw error;
}

const slotPath = (slot, rest = "") => `v1/slots/${encodeURIComponent(slot)}${rest}`;

/** Returns the name and the scope of a token. */
export const tokenOf = (token) => call("v1/token", { token });

export const slots = async (signal) => (await call("v1/slots", { signal })).slots;
export const slot = (name, signal) => call(slotPath(name), { signal });
export const history = async (name, signal) => (await call(slotPath(name, "/history"), { signal })).versions;
export const statistics = (name, limit, signal) => call(slotPath(name, `/statistics?limit=${limit}`), { signal });
export const logs = async (name, limit, signal) => (await call(slotPath(name, `/logs?limit=${limit}`), { signal })).lines;

/** Returns the last entries of the audit log, of one slot or of all. */
export async function audit(slot, limit, signal) {
  const query = new URLSearchParams({ limit, ...(slot && { slot }) });
  return (await call(`v1/audit?${query}`, { signal })).entries;
}

/** Returns the host's readiness; needs no token. */
export const readiness = async (signal) => (await fetchJson("health/ready", { signal })).body;

let description;

/** Returns whether the host's OpenAPI document has an operation. */
export async function offers(path, method) {
  description ??= (await fetchJson("v1/openapi.json")).body;
  return description.paths?.[path]?.[method] !== undefined;
}

/** Returns the counts and differences of the candidate in shadow. */
export const shadow = (name, signal) => call(slotPath(name, "/shadow"), { signal });

/** Returns the differences between two versions. */
export const diff = (name, a, b) => call(slotPath(name, `/diff?${new URLSearchParams({ a, b })}`));

/** Returns the current configuration. */
export const configuration = (signal) => call("v1/config", { signal });

const post = (path, body) =>
  call(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Makes a change to a slot, such as `swap`. */
export const change = (name, what, body) => post(slotPath(name, `/${what}`), body);

/** Makes a change to the configuration, such as `reload`. */
export const configure = (what, body) => post(`v1/config/${what}`, body);

/** Uploads a component, with the text of its `.minisig` file if there is one; returns the version. */
export function push(name, file, signature) {
  const headers = { "content-type": "application/wasm" };
  if (signature) headers["x-minisign-signature"] = base64(signature);
  const path = slotPath(name, `/versions?${new URLSearchParams({ source: file.name })}`);
  return call(path, { method: "POST", headers, body: file });
}

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
