// Draws series of the last minutes as SVG, with their figures as text.

import { h, setText, svg } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 80;

/** Seconds of a step of the host's statistics. */
const STEP_SECONDS = 2;

/** A series of events per second; `count` returns the number in a step. */
export const rates = (name, kind, count) => ({ name, kind, value: (step) => count(step) / step.seconds });

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundUp(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((bound) => bound >= value);
}

/** A path through the points, with a gap where there is no value. */
function path(points) {
  let pen = "M";
  return points
    .map(([x, y]) => {
      if (y === null) {
        pen = "M";
        return "";
      }
      const at = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
      // A point between two gaps is drawn, too.
      const dot = pen === "M" ? "h.1" : "";
      pen = "L";
      return at + dot;
    })
    .join("");
}

/** Minutes that so many steps take. */
const minutes = (room) => `${(room * STEP_SECONDS) / 60} min ago`;

/** A chart of several series that has room for so many steps. */
export function chart(title, series, format, room) {
  const lines = series.map(({ kind }) => svg("path", { class: `line ${kind}` }));
  const grid = [0, 0.5, 1].map((share) => svg("path", { class: "grid", d: `M0 ${share * HEIGHT}H${WIDTH}` }));
  const drawing = svg(
    "svg",
    { viewBox: `0 -2 ${WIDTH} ${HEIGHT + 4}`, preserveAspectRatio: "none", role: "img" },
    ...grid,
    ...lines,
  );
  const most = h("span");
  const legend = series.map(({ name, kind }) => ({ swatch: h("span", { class: `swatch ${kind}` }), name, value: h("span") }));
  const element = h(
    "figure",
    { class: "chart" },
    h("div", { class: "scale quiet", "aria-hidden": "true" }, most),
    drawing,
    h("div", { class: "scale quiet", "aria-hidden": "true" }, h("span", {}, minutes(room)), h("span", {}, "now")),
    h("figcaption", {}, ...legend.map(({ swatch, name, value }) => h("span", {}, swatch, `${name} `, value))),
  );

  function update(steps) {
    const values = series.map(({ value }) => steps.map((step) => value(step) ?? null));
    const top = roundUp(Math.max(0, ...values.flat().filter((value) => value !== null)));
    const place = (value, at) => [
      ((room - steps.length + at + 1) / room) * WIDTH,
      value === null ? null : HEIGHT - (value / top) * HEIGHT,
    ];
    lines.forEach((line, at) => line.setAttribute("d", path(values[at].map(place))));
    setText(most, format(top));
    const last = values.map((of) => of.findLast((value) => value !== null));
    const said = last.map((value) => (value === undefined ? "none" : format(value)));
    legend.forEach(({ value }, at) => setText(value, said[at]));
    drawing.setAttribute("aria-label", `${title}: ${series.map(({ name }, at) => `${name} ${said[at]}`).join(", ")}`);
  }
  return { element, update };
}
