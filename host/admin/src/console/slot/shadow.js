// The results of a candidate in shadow: its answers side by side with the live ones.

import { shadow } from "../api.js";
import { h, pairs, whenChanged } from "../parts/dom.js";
import { moment, whole } from "../parts/format.js";

const member = ({ name, live, shadow }) =>
  h(
    "div",
    { class: "member" },
    h("strong", {}, name),
    h("div", {}, h("span", { class: "quiet" }, "live"), h("pre", {}, live ?? "nothing")),
    h("div", {}, h("span", { class: "quiet" }, "in shadow"), h("pre", {}, shadow ?? "nothing")),
  );

const difference = ({ at, call, members }) =>
  h("li", {}, h("strong", {}, call), " ", h("span", { class: "quiet" }, moment(at)), ...members.map(member));

/** The panel; `update` fetches the counts while a candidate is in shadow. */
export function shadowing(place) {
  const figures = h("dl", { class: "figures" });
  const differences = h("ol", { class: "differences", tabindex: "0", "aria-label": "The last differences" });
  const element = h(
    "section",
    { class: "sheet", "aria-labelledby": "shadow-title", hidden: true },
    h("h2", { id: "shadow-title" }, "In shadow"),
    figures,
    differences,
  );
  const show = whenChanged(({ same, different, failed, skipped, differences: found }) => {
    const counts = { same, different, failed, skipped };
    figures.replaceChildren(...pairs(Object.entries(counts).map(([name, count]) => [name, whole(count)])));
    differences.hidden = found.length === 0;
    differences.replaceChildren(...found.toReversed().map(difference));
  });
  async function update({ candidate }, signal) {
    element.hidden = !candidate?.shadow;
    if (candidate?.shadow) show(await shadow(place.name, signal));
  }
  return { element, update };
}
