// Who works with the console. The token stays in this tab and goes nowhere but into a header.

const KEY = "bulkhead-token";
const SCOPES = ["read", "deploy", "admin"];

let token = sessionStorage.getItem(KEY);
let scope;

/** The token, or null. */
export const currentToken = () => token;

/** Keeps a token that the host knows, with what it may do. */
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

/** Whether the token's scope includes this one. */
export const may = (wanted) => SCOPES.indexOf(scope) >= SCOPES.indexOf(wanted);
