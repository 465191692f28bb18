// Walks through a page with Chromium, step by step, and prints as JSON what was seen.
//
// One argument, JSON: `packages` (the folder around node_modules), `chromium` (the program), `profile` (a folder for it
// to fill) and `steps`, each `[verb, ...]` of the verbs below.

import { createRequire } from "node:module";

import { FLAGS, PATIENCE } from "./settings.mjs";

const task = JSON.parse(process.argv[2]);
const { chromium } = createRequire(`${task.packages}/`)("playwright-core");

/** Stops of the Tab key until something is taken to be out of reach. */
const STOPS = 80;

/** `notes` by their names; `complaints` of the browser; `asked`: method, address and whether a token went along. */
const seen = { notes: {}, complaints: [], asked: [], unseen: [] };

function watch(page) {
  page.on("console", (message) => {
    const { url } = message.location();
    if (["error", "warning"].includes(message.type())) seen.complaints.push(`${message.text()} ${url}`);
  });
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
  page.on("dialog", (dialog) => seen.complaints.push(`a dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    const { authorization } = request.headers();
    seen.asked.push([request.method(), request.url(), authorization ?? null]);
  });
}

/** Whether what has the focus shows it. */
function showsFocus() {
  // Between the last stop and the first one, nothing has it.
  if (document.activeElement === document.body) return true;
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return document.activeElement.matches(":focus-visible") && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
}

const verbs = {
  go: (page, url) => page.goto(url),
  fill: (page, selector, text) => page.locator(selector).fill(text),
  click: (page, selector) => page.locator(selector).click(),
  files: (page, selector, path) => page.locator(selector).setInputFiles(path),
  press: (page, key) => page.keyboard.press(key),
  type: (page, text) => page.keyboard.type(text),
  size: (page, width, height) => page.setViewportSize({ width, height }),
  media: (page, features) => page.emulateMedia(features),
  shot: (page, path) => page.screenshot({ path, fullPage: true }),
  // Until an element with the text can be seen.
  see: (page, selector, text) => page.locator(selector).filter({ hasText: text, visible: true }).first().waitFor(),
  gone: (page, selector) => page.locator(selector).filter({ visible: true }).first().waitFor({ state: "hidden" }),
  // What an expression comes to in the page.
  note: async (page, name, expression) => (seen.notes[name] = await page.evaluate(expression)),
  // Tab after Tab until something has the focus; every stop must show that it has it.
  async tab(page, selector) {
    const goal = await page.locator(selector).filter({ visible: true }).first().elementHandle();
    for (let stop = 0; stop < STOPS; stop += 1) {
      await page.keyboard.press("Tab");
      if (!(await page.evaluate(showsFocus))) {
        const name = await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200));
        seen.unseen.push(name);
      }
      if (await goal.evaluate((element) => element === document.activeElement)) return;
    }
    throw new Error(`${selector} is out of the keyboard's reach`);
  },
};

const options = { executablePath: task.chromium, args: FLAGS, headless: true, timeout: PATIENCE };
const context = await chromium.launchPersistentContext(task.profile, options);
try {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  watch(page);
  for (const [verb, ...rest] of task.steps) {
    try {
      await verbs[verb](page, ...rest);
    } catch (error) {
      const text = await page.locator("body").innerText({ timeout: 1000 }).catch(() => "");
      seen.failed = `${verb} ${JSON.stringify(rest)}: ${error}\nThe page says: ${text}`;
      break;
    }
  }
  seen.cookies = await context.cookies();
  console.log(JSON.stringify(seen));
} finally {
  await context.close();
}
