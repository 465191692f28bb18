// The last lines of a slot's log: messages of its component, and failed calls.

import { logs } from "../api.js";
import { h, setText, whenChanged } from "../parts/dom.js";
import { moment, short } from "../parts/format.js";
import { poll } from "../parts/poll.js";

const LINES = 200;
const LEVELS = ["trace", "debug", "info", "warn", "error", "critical"];

const line = ({ at, level, version, context, message }) =>
  h(
    "li",
    { class: `log-line ${level}` },
    h("span", { class: "quiet" }, moment(at)),
    h("span", { class: "level" }, level),
    h("code", { class: "quiet", title: version }, short(version)),
    h("span", { class: "context" }, context),
    h("span", { class: "message" }, message),
  );

/** The panel, which polls for lines. */
export function logTail(name, signal) {
  const list = h("ol", { class: "log", role: "log", "aria-live": "off", "aria-labelledby": "log-title", tabindex: "0" });
  const none = h("p", { class: "quiet" });
  const least = h("select", { id: "least", change: () => again() }, ...LEVELS.map((level) => h("option", {}, level)));
  const follow = h("input", { id: "follow", type: "checkbox", checked: true, change: () => again() });
  const show = whenChanged((lines) => {
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 8;
    list.replaceChildren(...lines.map(line));
    list.hidden = lines.length === 0;
    setText(none, lines.length === 0 ? "No lines." : "");
    if (atEnd) list.scrollTop = list.scrollHeight;
  });
  const again = poll(async (signal) => {
    if (!follow.checked) return;
    const lines = await logs(name, LINES, signal);
    show(lines.filter(({ level }) => LEVELS.indexOf(level) >= LEVELS.indexOf(least.value)));
  }, signal);
  return h(
    "section",
    { class: "sheet", "aria-labelledby": "log-title" },
    h("h2", { id: "log-title" }, "Log"),
    h(
      "div",
      { class: "controls" },
      h("label", {}, "From level ", least),
      h("label", {}, follow, " Follow"),
    ),
    none,
    list,
  );
}
