// The steps of a version, each with time, actor and reason.

import { h } from "../parts/dom.js";
import { moment } from "../parts/format.js";

/** Makes a list, first step first. */
export const moves = (steps) =>
  h(
    "ol",
    { class: "moves" },
    ...steps.map(({ stage, at, actor, reason }) =>
      h(
        "li",
        {},
        h("span", { class: `stage ${stage}` }, stage),
        h("span", { class: "quiet" }, moment(at), ` by ${actor}`),
        ...(reason ? [h("pre", {}, reason)] : []),
      ),
    ),
  );

/** Returns the steps since the component was last received. */
export const latest = (steps) => steps.slice(steps.findLastIndex(({ stage }) => stage === "received"));
