// A slot's statistics: charts of the last minutes, and counts since the host's start.

import { chart, rates } from "../parts/chart.js";
import { h, setText } from "../parts/dom.js";
import { bytes, milliseconds, perSecond, whole } from "../parts/format.js";

/** Outcomes that do not count as failures. */
const HARMLESS = ["ok", "guest-error", "cancelled"];

const count = (name) => (step) => step.outcomes[name] ?? 0;

/** Counts the failed calls of a step, or since the start. */
export const failed = ({ outcomes }) =>
  Object.entries(outcomes).reduce((sum, [name, calls]) => sum + (HARMLESS.includes(name) ? 0 : calls), 0);

/** The panel; `room` is the number of steps in a chart. */
export function doing(name, room) {
  const charts = [
    [
      "Calls per second",
      chart(
        `Calls per second of ${name}`,
        [rates("answered", "calls", count("ok")), rates("errors", "errors", count("guest-error")), rates("failures", "failed", failed)],
        perSecond,
        room,
      ),
    ],
    [
      "Latency",
      chart(
        `Latency of ${name}`,
        [
          { name: "p50", kind: "half", value: ({ p50_ms }) => p50_ms },
          { name: "p99", kind: "most", value: ({ p99_ms }) => p99_ms },
        ],
        milliseconds,
        room,
      ),
    ],
    [
      "Concurrent calls",
      chart(
        `Concurrent calls of ${name}`,
        [
          { name: "in flight", kind: "calls", value: ({ in_flight }) => in_flight },
          { name: "waiting", kind: "most", value: ({ waiting }) => waiting },
        ],
        whole,
        room,
      ),
    ],
  ];
  const figures = h("dl", { class: "figures" });
  const values = new Map();
  function figure(label, text, warn) {
    if (!values.has(label)) {
      const value = h("dd");
      figures.append(h("div", {}, h("dt", {}, label), value));
      values.set(label, value);
    }
    setText(values.get(label), text);
    values.get(label).classList.toggle("warn", warn);
  }

  const element = h(
    "section",
    { class: "sheet", "aria-labelledby": "doing-title" },
    h("h2", { id: "doing-title" }, "Last five minutes"),
    h("div", { class: "charts" }, ...charts.map(([title, { element }]) => h("div", {}, h("h3", {}, title), element))),
    h("h3", {}, "Since the host’s start"),
    figures,
  );
  function update(statistics) {
    for (const [, { update }] of charts) update(statistics.steps);
    figure("calls", whole(statistics.calls), false);
    figure("p50", milliseconds(statistics.p50_ms), false);
    figure("p99", milliseconds(statistics.p99_ms), false);
    figure("peak memory of a call", bytes(statistics.memory_high_water_bytes), false);
    for (const [name, calls] of Object.entries(statistics.outcomes)) {
      figure(name, whole(calls), calls > 0 && !HARMLESS.includes(name));
    }
  }
  return { element, update };
}
