// The captcha form: fetches a challenge of the site `demo`, solves it with the demo page's solver, and sends the solution.

import { call, form } from "../call.js";
import { byId, facts, h } from "../dom.js";

const VERDICTS = { true: ["good", "Verified"], false: ["bad", "Refused"] };

function verdict({ verified, reason }, more = []) {
  const [kind, text] = VERDICTS[verified === true];
  return [h("p", { class: `big ${kind}`, id: "verdict" }, text), facts([["Reason", reason], ...more])];
}

export function start({ base }) {
  const section = byId("captcha");
  const again = byId("replay");
  const endpoint = (name) => `${base}/api/v1/captcha/widget/${name}?siteKey=demo`;
  let sent;
  const solveAndVerify = async () => {
    const { solve } = await import(`${base}/demo/captcha/solver.js`);
    const challenge = await call(endpoint("challenge"));
    const solution = await solve(challenge);
    sent = { payload: btoa(JSON.stringify({ challenge, solution })) };
    const { algorithm, cost } = challenge.parameters;
    return verdict(await call(endpoint("verify"), { body: sent }), [
      ["Work", `${algorithm} at cost ${cost}, ${solution.counter + 1} tries in ${solution.time} ms`],
    ]);
  };
  const run = form(section, solveAndVerify, () => (again.disabled = sent === undefined));
  again.addEventListener("click", (event) => run(event, async () => verdict(await call(endpoint("verify"), { body: sent }))));
}
