// Shows the audit log.

import { audit as entries, slots } from "./api.js";
import { h, setText, whenChanged } from "./parts/dom.js";
import { moment, short } from "./parts/format.js";
import { poll } from "./parts/poll.js";

const ENTRIES = 200;

const line = ({ at, slot, generation, version, stage, actor, reason }) =>
  h(
    "li",
    {},
    h("span", { class: "quiet" }, moment(at)),
    h("span", {}, h("strong", {}, slot), h("span", { class: "quiet" }, ` generation ${generation}`)),
    h("span", {}, h("code", {}, short(version)), " ", h("span", { class: `stage ${stage}` }, stage)),
    h("span", {}, "by ", h("strong", {}, actor)),
    ...(reason ? [h("pre", {}, reason)] : []),
  );

/** The view. */
export function audit(signal) {
  const list = h("ol", { class: "audit" });
  const none = h("p", { class: "quiet" });
  const choice = h("select", { id: "audit-slot", change: () => again() }, h("option", { value: "" }, "everything"));
  const showChoice = whenChanged((names) => choice.append(...names.map((name) => h("option", { value: name }, name))));
  const show = whenChanged((found) => {
    list.replaceChildren(...found.toReversed().map(line));
    setText(none, found.length === 0 ? "No entries yet." : "");
  });
  const again = poll(async (signal) => {
    showChoice([...(await slots(signal)).map(({ slot }) => slot), "config", "access"]);
    show(await entries(choice.value, ENTRIES, signal));
  }, signal);
  const element = h(
    "div",
    {},
    h("h1", { tabindex: "-1" }, "Audit log"),
    h("div", { class: "controls" }, h("label", {}, "Show ", choice), h("span", { class: "quiet" }, "the last entries, newest first")),
    none,
    list,
  );
  return { element, title: "Audit log" };
}
