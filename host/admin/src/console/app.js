// The console: keeps the session and shows the view that the address names.

import { tokenOf } from "./api.js";
import { audit } from "./audit.js";
import { configuration } from "./configuration.js";
import { closeDialogs } from "./parts/dialog.js";
import { announce, setText } from "./parts/dom.js";
import { login } from "./login.js";
import { overview } from "./overview.js";
import { begin, currentToken, end, may } from "./session.js";
import { slot } from "./slot.js";

/** Views other than those of slots, by their names in addresses. */
const PLACES = new Map([["audit", audit], ["configuration", configuration]]);

const element = (id) => document.getElementById(id);

/** Aborts when the view is replaced. */
let shown = new AbortController();

function show(make) {
  shown.abort();
  closeDialogs();
  shown = new AbortController();
  const view = make(shown.signal);
  element("view").replaceChildren(view.element);
  document.title = `${view.title} · Bulkhead`;
  if (view.focus) view.focus();
  else view.element.querySelector("h1").focus();
}

/** Decodes a name from an address; returns malformed names unchanged. */
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function route() {
  const [, place, name] = location.hash.split("/");
  for (const link of element("places").querySelectorAll("a")) {
    const here = link.hash.split("/")[1] === (PLACES.has(place) ? place : "");
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (PLACES.has(place)) return show(PLACES.get(place));
  if (place === "slots" && name) return show((signal) => slot(decoded(name), signal));
  return show(overview);
}

function enter(token, { name, scope }) {
  begin(token, scope);
  setText(element("token-name"), `${name} (${scope})`);
  element("places").hidden = element("who").hidden = false;
  element("audit-place").hidden = !may("admin");
  announce(`Logged in as ${name}, scope ${scope}.`);
  route();
}

function leave(why) {
  end();
  element("places").hidden = element("who").hidden = true;
  show(() => login(enter, why));
}

element("log-out").addEventListener("click", () => {
  leave();
  announce("Logged out.");
});
// Does not set the fragment of the address, because fragments name views.
element("skip").addEventListener("click", (event) => {
  event.preventDefault();
  element("view").focus();
});
addEventListener("hashchange", () => currentToken() && route());
addEventListener("unauthorized", ({ detail }) => currentToken() && leave(detail));

if (currentToken()) {
  try {
    enter(currentToken(), await tokenOf(currentToken()));
  } catch (error) {
    leave(error);
  }
} else {
  leave();
}
