// Repeats a task while the page is visible.

import { setText } from "./dom.js";

/** Milliseconds between two runs; the host's statistics have steps of two seconds. */
const EVERY = 2000;

function trouble(text) {
  const element = document.getElementById("trouble");
  element.hidden = text === "";
  setText(element, text);
}

/**
 * Runs `task` now and every two seconds while the page is visible, until `signal` aborts. Returns a function that runs it
 * at once.
 */
export function poll(task, signal) {
  let timer;
  let running = false;
  let wanted = false;
  async function run() {
    clearTimeout(timer);
    if (signal.aborted) return;
    wanted = running;
    if (running) return;
    running = true;
    try {
      await task(signal);
      if (!signal.aborted) trouble("");
    } catch (error) {
      if (!signal.aborted) trouble(`${error.code ?? "error"}: ${error.message}. The page may show old figures.`);
    }
    running = false;
    if (wanted) await run();
    else if (!document.hidden && !signal.aborted) timer = setTimeout(run, EVERY);
  }
  document.addEventListener("visibilitychange", () => document.hidden || run(), { signal });
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    trouble("");
  });
  run();
  return run;
}
