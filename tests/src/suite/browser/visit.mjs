// Visits pages with Chromium as a person would, and prints as JSON what was seen at each visit.
//
// One argument, JSON: `packages` (the folder around node_modules), `chromium` (the program), `profile` (a
// folder for it to fill) and `visits`. A visit is `{ url, click, comesTo, again }`: a selector to click, the
// text that `#state` must then come to, and, optionally, the text that it must come to once `#replay` is
// clicked.

import { createRequire } from "node:module";

import { FLAGS, PATIENCE } from "./settings.mjs";

const task = JSON.parse(process.argv[2]);
const { chromium } = createRequire(`${task.packages}/`)("playwright-core");

/** Notes what the browser complains about, whom it asks, and which algorithms it is asked for. */
function watch(page) {
  const seen = { complaints: [], origins: [], algorithms: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) seen.complaints.push(message.text());
  });
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
  page.on("requestfailed", (request) => seen.complaints.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && !seen.origins.includes(origin)) seen.origins.push(origin);
  });
  page.on("response", (response) => {
    const isChallenge = new URL(response.url()).pathname.endsWith("/challenge") && response.ok();
    if (isChallenge) seen.algorithms.push(response.json().then((challenge) => challenge.parameters.algorithm));
  });
  return seen;
}

async function visit(context, { url, click, comesTo, again }) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const seen = watch(page);
  const state = async (text) => page.locator("#state", { hasText: new RegExp(`^${text}$`) }).waitFor();
  const answer = async () => page.locator("#answer").textContent();
  try {
    await page.goto(url);
    await page.locator(click).click();
    await state(comesTo);
    seen.algorithms = await Promise.all(seen.algorithms);
    seen.answer = JSON.parse(await answer());
    const field = page.locator("input[name=altcha]");
    if (await field.count()) seen.field = await field.inputValue();
    if (again !== undefined) {
      await page.locator("#replay").click();
      await state(again);
      seen.again = JSON.parse(await answer());
    }
  } catch (error) {
    const text = await page.locator("body").innerText({ timeout: 1000 }).catch(() => "");
    seen.failed = `${error}\nThe page says: ${text}`;
  }
  await page.close();
  return seen;
}

const options = { executablePath: task.chromium, args: FLAGS, headless: true, timeout: PATIENCE };
const context = await chromium.launchPersistentContext(task.profile, options);
try {
  const seen = [];
  for (const each of task.visits) seen.push(await visit(context, each));
  console.log(JSON.stringify(seen));
} finally {
  await context.close();
}
