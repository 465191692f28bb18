// The host's configuration: which counts, and reading it anew, with a trial before and a way back.

import { configuration as current, configure } from "./api.js";
import { confirm } from "./dialog.js";
import { announce, facts, h, whenChanged } from "./dom.js";
import { lasting, moment, short } from "./format.js";
import { poll } from "./poll.js";
import { problem } from "./problem.js";
import { may } from "./session.js";

const keys = (all) => (all.length ? h("ul", {}, ...all.map((key) => h("li", {}, h("code", {}, key)))) : undefined);

const version = ({ slot, version }) =>
  h("li", {}, h("a", { href: `#/slots/${encodeURIComponent(slot)}` }, slot), " ", h("code", {}, short(version)));

/** What a reload does or has done. */
function result(title, { live, restart, versions, warnings }, words) {
  const rows = [
    [words.live, keys(live)],
    ["needs a restart", keys(restart)],
    [words.versions, versions.length ? h("ul", {}, ...versions.map(version)) : undefined],
    ["warnings", warnings.length ? h("ul", {}, ...warnings.map((warning) => h("li", {}, warning))) : undefined],
  ];
  const some = rows.some(([, value]) => value !== undefined);
  const more = some ? facts(rows) : h("p", {}, "Nothing has changed.");
  return h("div", { class: "verdict good" }, h("h3", { tabindex: "-1" }, title), more);
}

const WOULD = { live: "would count", versions: "other versions" };
const DOES = { live: "counts now", versions: "other versions" };

function actions(verdict, again) {
  const show = (element) => {
    verdict.replaceChildren(element);
    element.querySelector("h3")?.focus();
  };
  const refused = (error) =>
    show(h("div", { class: "verdict bad" }, h("h3", { tabindex: "-1" }, "All is as it was"), problem(error)));

  async function rehearse() {
    announce("The configuration is read and tried.");
    verdict.replaceChildren(h("p", {}, "It is read, and every slot’s component tried under it…"));
    try {
      show(result("A reload would go well", await configure("trial", {}), WOULD));
    } catch (error) {
      refused(error);
    }
    again();
  }

  const ask = (what, dialog) => {
    const run = async (reason) => {
      try {
        verdict.replaceChildren(result(dialog.done, await configure(what, { reason }), DOES));
      } finally {
        again();
      }
    };
    confirm({ ...dialog, run });
  };
  const reload = () =>
    ask("reload", {
      title: "Read the configuration anew?",
      about: [
        h("p", {}, "What can change while the host runs changes, or nothing does. Every slot’s component is tried under its settings first."),
      ],
      verb: "Reload",
      done: "The configuration has been read anew.",
    });
  const undo = () =>
    ask("undo", {
      title: "Go back to the configuration before?",
      about: [h("p", {}, "The file stays as it is: mend it before the next reload or restart.")],
      verb: "Undo",
      kind: "danger",
      done: "The configuration before counts again.",
    });

  const back = h("button", { type: "button", class: "danger", hidden: true, click: undo }, "Undo…");
  const element = h(
    "div",
    { class: "actions" },
    h("button", { type: "button", click: rehearse }, "See what would change"),
    h("button", { type: "button", class: "main", click: reload }, "Reload…"),
    back,
  );
  return { element, update: ({ previous }) => (back.hidden = !previous) };
}

/** The view. */
export function configuration(signal) {
  const present = h("div", { class: "stack" });
  const verdict = h("div");
  const doing = may("admin") ? actions(verdict, () => again()) : undefined;
  const show = whenChanged(({ revision, generation, at, actor, reason, previous, restart, refused }) => {
    const rows = [
      ["revision", h("code", {}, short(revision))],
      ["since", h("span", {}, moment(at), ", ", lasting(at))],
      ["by", actor],
      ["reason", reason],
      ["read anew", generation === 0 ? "not since the host’s start" : `${generation} time${generation === 1 ? "" : "s"} since the host’s start`],
      ["before it", previous ? h("code", {}, short(previous)) : undefined],
      ["needs a restart", keys(restart)],
    ];
    const failed = refused && [
      h("h3", {}, "The last attempt was refused"),
      h("p", { class: "quiet" }, moment(refused.at), ` by ${refused.actor}`),
      h("div", { class: "problem" }, h("pre", {}, refused.reason)),
    ];
    present.replaceChildren(facts(rows), ...(failed ?? []));
  });
  const again = poll(async (signal) => {
    const now = await current(signal);
    show(now);
    doing?.update(now);
  }, signal);
  const element = h(
    "div",
    {},
    h("h1", { tabindex: "-1" }, "Configuration"),
    h(
      "div",
      { class: "panels" },
      h("section", { class: "sheet", "aria-labelledby": "counts-title" }, h("h2", { id: "counts-title" }, "What counts"), present),
      doing
        ? h(
            "section",
            { class: "sheet", "aria-labelledby": "anew-title" },
            h("h2", { id: "anew-title" }, "Read it anew"),
            h("p", { class: "quiet" }, "The file is read; environment and flags are those of the start."),
            doing.element,
            verdict,
          )
        : h("p", { class: "quiet" }, "Reading it anew takes a token of scope admin."),
    ),
  );
  return { element, title: "Configuration" };
}
