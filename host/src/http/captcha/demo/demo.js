// The demo page: solves ALTCHA challenges with Web Crypto, or hands that to the ALTCHA widget.

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

/** The body of the last call to verify, for the replay button. */
let sent;

function show(state, answer) {
  element("state").textContent = state;
  if (answer !== undefined) element("answer").textContent = JSON.stringify(answer, null, 1);
  element("replay").disabled = sent === undefined;
}

async function call(url, init) {
  const response = await fetch(url, init);
  const body = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${body.code}: ${body.message}`);
  return body;
}

async function verify() {
  const answer = await call(endpoint("verify"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: sent,
  });
  show(answer.verified ? "verified" : answer.reason, answer);
}

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Gives the function that derives the key of a counter's password. */
function derivation({ algorithm, salt, cost, keyLength = 32 }) {
  const [family, hash] = algorithm.startsWith("SHA-") ? ["SHA", algorithm] : algorithm.split("/");
  if (family === "SHA") {
    return async (password) => {
      let digest = await crypto.subtle.digest(hash, new Uint8Array([...bytes(salt), ...password]));
      for (let round = 1; round < cost; round += 1) digest = await crypto.subtle.digest(hash, digest);
      return digest.slice(0, keyLength);
    };
  }
  if (family === "PBKDF2") {
    const parameters = { name: "PBKDF2", hash, salt: bytes(salt), iterations: cost };
    return async (password) => {
      const key = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
      return crypto.subtle.deriveBits(parameters, key, keyLength * 8);
    };
  }
  throw new Error(`this page does not know ${algorithm}; add ?widget=URL of the ALTCHA widget`);
}

async function solve({ parameters }) {
  const started = performance.now();
  const derive = derivation(parameters);
  const nonce = bytes(parameters.nonce);
  const password = new Uint8Array(nonce.length + 4);
  password.set(nonce);
  const prefix = parameters.keyPrefix ?? "00";
  for (let counter = 0; ; counter += 1) {
    new DataView(password.buffer).setUint32(nonce.length, counter);
    const derivedKey = hex(await derive(password));
    if (derivedKey.startsWith(prefix)) {
      return { counter, derivedKey, time: Math.round((performance.now() - started) * 10) / 10 };
    }
  }
}

async function solveAndVerify() {
  show("fetching");
  const challenge = await call(endpoint("challenge"));
  show("solving", challenge);
  const solution = await solve(challenge);
  sent = JSON.stringify({ payload: btoa(JSON.stringify({ challenge, solution })) });
  show("solved", solution);
  await pause(delay);
  await verify();
}

/** Shows the widget; its calls pass through here so that the last one can be sent again. */
async function showWidget(address) {
  await import(address);
  await customElements.whenDefined("altcha-widget");
  const widget = document.createElement("altcha-widget");
  widget.setAttribute("challenge", endpoint("challenge"));
  widget.setAttribute("configuration", JSON.stringify({ verifyUrl: endpoint("verify") }));
  widget.addEventListener("statechange", ({ detail }) => show(detail.state));
  widget.addEventListener("serververification", ({ detail }) => show(element("state").textContent, detail));
  element("widget").append(widget);
  while (typeof widget.configure !== "function") await pause(10);
  widget.configure({
    fetch: async (url, init) => {
      if (init?.method?.toUpperCase() === "POST") {
        sent = init.body;
        await pause(delay);
      }
      return fetch(url, init);
    },
  });
  element("solve").hidden = true;
}

const guarded = (action) => () => action().catch((error) => show("error", String(error.message ?? error)));
element("site").textContent = site;
element("solve").addEventListener("click", guarded(solveAndVerify));
element("replay").addEventListener("click", guarded(verify));
show("ready");
if (query.has("widget")) guarded(() => showWidget(query.get("widget")))();
