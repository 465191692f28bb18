// The session. The token stays in this tab and is sent only in a header.

const KEY = "bulkhead-token";
const SCOPES = ["read", "deploy", "admin"];

let token = sessionStorage.getItem(KEY);
let scope;

/** Returns the token, or null. */
export const currentToken = () => token;

/** Keeps a valid token and its scope. */
export function begin(text, itsScope) {
  token = text;
  scope = itsScope;
  sessionStorage.setItem(KEY, text);
}

/** Forgets the token. */
export function end() {
  token = null;
  scope = undefined;
  sessionStorage.removeItem(KEY);
}

/** Returns whether the token's scope includes `wanted`. */
export const may = (wanted) => SCOPES.indexOf(scope) >= SCOPES.indexOf(wanted);
