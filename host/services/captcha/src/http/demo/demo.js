// The demo page: solves ALTCHA challenges with Web Crypto or with the ALTCHA widget.

import { solve } from "./solver.js";

const query = new URLSearchParams(location.search);
const site = query.get("siteKey") ?? "demo";
const delay = Number(query.get("delay") ?? 0);
const element = (id) => document.getElementById(id);
const endpoint = (name) => {
  const url = new URL(`../api/v1/captcha/widget/${name}`, location.href);
  url.searchParams.set("siteKey", site);
  if (query.has("action")) url.searchParams.set("action", query.get("action"));
  return url.href;
};
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** States before a verdict. */
const UNDECIDED = ["loading", "ready", "unverified", "fetching", "solving", "solved", "verifying"];

/** Body of the last answered call of `verify`, for the replay button. */
let sent;

function show(state, answer) {
  element("state").textContent = state;
  element("state").dataset.verdict = UNDECIDED.includes(state) ? "none" : state === "verified" ? "good" : "bad";
  if (answer !== undefined) showAnswer(answer);
}

function showAnswer(answer) {
  element("answer").textContent = typeof answer === "string" ? answer : JSON.stringify(answer, null, 2);
}

function remember(body) {
  sent = body;
  element("replay").disabled = false;
}

async function call(url, init) {
  const response = await fetch(url, init);
  const body = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${body.code}: ${body.message}`);
  return body;
}

async function verify(body) {
  const headers = { "content-type": "application/json" };
  const answer = await call(endpoint("verify"), { method: "POST", headers, body });
  remember(body);
  show(answer.verified ? "verified" : answer.reason, answer);
}

async function solveAndVerify() {
  show("fetching");
  const challenge = await call(endpoint("challenge"));
  show("solving", challenge);
  const solution = await solve(challenge);
  show("solved", solution);
  await pause(delay);
  show("verifying");
  await verify(JSON.stringify({ payload: btoa(JSON.stringify({ challenge, solution })) }));
}

/** The widget's `fetch`; the page shows the answers and keeps the last call for the replay button. */
async function fetchForWidget(url, init) {
  const isVerify = init?.method?.toUpperCase() === "POST";
  if (isVerify) await pause(delay);
  const response = await fetch(url, init);
  if (isVerify) remember(init.body);
  showAnswer(await response.clone().json());
  return response;
}

async function showWidget(address) {
  await import(address);
  await customElements.whenDefined("altcha-widget");
  const widget = document.createElement("altcha-widget");
  widget.setAttribute("challenge", endpoint("challenge"));
  widget.setAttribute("configuration", JSON.stringify({ verifyUrl: endpoint("verify") }));
  widget.addEventListener("statechange", ({ detail }) => show(detail.state));
  element("widget").append(widget);
  while (typeof widget.configure !== "function") await pause(10);
  widget.configure({ fetch: fetchForWidget });
}

/** Runs an action with the buttons disabled, and shows its error. */
async function run(action) {
  const buttons = [element("solve"), element("replay")];
  buttons.forEach((button) => (button.disabled = true));
  try {
    await action();
  } catch (error) {
    show("error", String(error.message ?? error));
  }
  element("solve").disabled = false;
  element("replay").disabled = sent === undefined;
}

element("site").textContent = site;
element("solve").addEventListener("click", () => run(solveAndVerify));
element("replay").addEventListener("click", () => run(() => verify(sent)));
if (query.has("widget")) {
  element("solve").hidden = true;
  await run(() => showWidget(query.get("widget")));
}
if (element("state").textContent === "loading") show("ready");
