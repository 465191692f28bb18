// The overview of all slots.

import { readiness, slots, statistics } from "./api.js";
import { chart, rates } from "./parts/chart.js";
import { failed } from "./slot/doing.js";
import { h, rows, setText, whenChanged } from "./parts/dom.js";
import { bytes, lasting, milliseconds, perSecond, short, whole } from "./parts/format.js";
import { poll } from "./parts/poll.js";
import { pills, sinceWhen } from "./parts/state.js";

/** Steps of a minute. */
const STEPS = 30;

function card({ slot }) {
  const name = h("h2", {}, h("a", { href: `#/slots/${encodeURIComponent(slot.slot)}` }, slot.slot));
  const state = h("p", { class: "pills" });
  const version = h("p", { class: "quiet version" });
  const figures = ["calls", "failures", "in flight", "p50", "p99", "peak memory"].map((label) => [label, h("dd")]);
  const line = chart(`Calls per second of ${slot.slot}`, [rates("calls", "calls", (step) => step.calls)], perSecond, STEPS);
  const element = h(
    "li",
    { class: "sheet card" },
    h("div", { class: "between" }, name, state),
    version,
    line.element,
    h("dl", { class: "figures" }, ...figures.map(([label, value]) => h("div", {}, h("dt", {}, label), value))),
  );
  const values = Object.fromEntries(figures);
  const showState = whenChanged((slot) => state.replaceChildren(...pills(slot)));
  function update({ slot, statistics }) {
    showState(slot);
    const { active, empty } = slot;
    if (active) {
      const at = sinceWhen(active);
      version.replaceChildren(h("code", {}, short(active.id)), ` from ${active.source}`, ...(at ? [", ", lasting(at)] : []));
    } else setText(version, empty ?? "");
    line.update(statistics.steps);
    const last = statistics.steps.findLast((step) => step.calls > 0);
    setText(values.calls, whole(statistics.calls));
    setText(values.failures, whole(failed(statistics)));
    setText(values.p50, milliseconds(last?.p50_ms));
    setText(values.p99, milliseconds(last?.p99_ms));
    setText(values["in flight"], whole(statistics.in_flight));
    setText(values["peak memory"], bytes(statistics.memory_high_water_bytes));
  }
  return { element, update };
}

/** The view. */
export function overview(signal) {
  const list = h("ul", { class: "cards" });
  const ready = h("div", { role: "status" });
  const update = rows(list, ({ slot }) => slot.slot, card);
  const showReadiness = whenChanged(({ failing = [] }) => {
    const lines = failing.map(({ check, reason }) => h("li", {}, h("strong", {}, check), h("pre", {}, reason)));
    ready.replaceChildren(...(lines.length ? [h("div", { class: "problem" }, h("p", {}, "Not ready:"), h("ul", {}, ...lines))] : []));
  });
  poll(async (signal) => {
    const [found, health] = await Promise.all([slots(signal), readiness(signal)]);
    const figures = await Promise.all(found.map(({ slot }) => statistics(slot, STEPS, signal)));
    update(found.map((slot, at) => ({ slot, statistics: figures[at] })));
    showReadiness(health);
  }, signal);
  const element = h("div", {}, h("h1", { tabindex: "-1" }, "Slots"), ready, list);
  return { element, title: "Slots" };
}
