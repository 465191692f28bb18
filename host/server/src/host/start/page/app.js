// The start page: the services and their state, a form for each service, and links.

import { call } from "./call.js";
import { byId, facts, h } from "./dom.js";

/** The pause after which the page of a starting host is loaded again. */
const RELOAD_MILLIS = 1000;

const STATES = { on: ["good", "runs"], off: ["", "is off"], elsewhere: ["warn", "has a listener of its own"] };

/** Returns a listener's address for this browser; an unspecified address becomes this page's host. */
function reachable(address) {
  const url = new URL(address);
  if (["0.0.0.0", "[::]"].includes(url.hostname)) url.hostname = location.hostname;
  return url.href.replace(/\/$/, "");
}

/** Returns the base of a service's paths, as a path of this host or as a URL; null if only the log names the port. */
const place = ({ state, base, address }) => (state === "elsewhere" ? address && `${reachable(address)}${base}` : base);

function version(slot) {
  const name = `Slot ${slot.name}`;
  if (slot.version === null) return [name, h("span", { class: "bad" }, slot.empty ?? "empty")];
  const candidate = slot.candidate === null ? "" : `; candidate ${slot.candidate}`;
  return [name, h("span", {}, h("code", {}, slot.version), ` from ${slot.source}${candidate}`)];
}

/** Whether the base is of use: a service without form and API page has only what its slots are mounted at. */
const hasAddress = ({ state, docs, form }) => state !== "off" && (docs !== null || form);

const isTried = ({ state, form }) => state === "on" && form;

/** Loads the script of a service's form. */
const script = ({ name }) => import(`./forms/${name}.js`);

/** Returns what the script of a service's form adds to the list of services. */
async function ownRows(service) {
  if (!isTried(service)) return [];
  return (await (await script(service)).rows?.(service)) ?? [];
}

async function card(service) {
  const [kind, state] = STATES[service.state];
  const shown = hasAddress(service) ? (place(service) ?? "see the log for its port") : undefined;
  const rows = [
    ["Address", shown === undefined ? undefined : h("code", {}, shown === "" ? "/" : shown)],
    ...(await ownRows(service)),
    ...service.slots.map(version),
  ];
  return h(
    "li",
    { class: "card", "data-service": service.name },
    h("header", {}, h("h3", {}, service.name), h("span", { class: `state ${kind}` }, state)),
    h("p", { class: "quiet" }, service.about),
    facts(rows),
  );
}

const item = (href, text, note) => h("li", {}, h("a", { href }, text), note === undefined ? null : h("div", { class: "quiet" }, note));

function links({ services, console: operators, guides }) {
  const isReached = (service) => service.state !== "off" && typeof place(service) === "string";
  const documented = services.filter((service) => service.docs !== null && isReached(service));
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(new URL(operators).hostname);
  const note = isLocal ? "Only on the host's machine; needs an operator's token." : "Needs an operator's token.";
  const own = documented.map((service) => item(`${place(service)}/${service.docs}`, service.name));
  byId("apis").replaceChildren(...own, item(new URL("/v1/docs", reachable(operators)).href, "operators", note));
  byId("console").replaceChildren(item(reachable(operators), "Operators' console", note));
  byId("guides").replaceChildren(...guides.map(({ path, title }) => item(path, title)));
}

async function start() {
  const what = await call("demo/start/what-runs.json");
  byId("version").textContent = what.version;
  links(what);
  // The forms of services whose components are not ready yet get no answers.
  if (what.starting) setTimeout(() => location.reload(), RELOAD_MILLIS);
  byId("cards").replaceChildren(...(await Promise.all(what.services.map(card))));
  const running = what.services.filter(isTried);
  for (const service of running) byId(service.name).hidden = false;
  await Promise.all(running.map(async (service) => (await script(service)).start(service)));
}

try {
  await start();
} catch (error) {
  byId("trouble").textContent = `The page cannot load the state of the services: ${error.message}`;
  byId("trouble").hidden = false;
}
