// The host's configuration: its present state, dry run, reload and undo.

import { configuration as current, configure } from "./api.js";
import { confirm } from "./parts/dialog.js";
import { announce, facts, h, whenChanged } from "./parts/dom.js";
import { lasting, moment, short } from "./parts/format.js";
import { poll } from "./parts/poll.js";
import { problem } from "./parts/problem.js";
import { may } from "./session.js";

const keys = (all) => (all.length ? h("ul", {}, ...all.map((key) => h("li", {}, h("code", {}, key)))) : undefined);

const version = ({ slot, version }) =>
  h("li", {}, h("a", { href: `#/slots/${encodeURIComponent(slot)}` }, slot), " ", h("code", {}, short(version)));

/** Shows the result of a dry run, a reload or an undo. */
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

const WOULD = { live: "would take effect", versions: "would change version" };
const DOES = { live: "took effect", versions: "changed version" };

function actions(verdict, again) {
  const show = (element) => {
    verdict.replaceChildren(element);
    element.querySelector("h3")?.focus();
  };
  const refused = (error) =>
    show(h("div", { class: "verdict bad" }, h("h3", { tabindex: "-1" }, "Nothing has changed"), problem(error)));

  async function dryRun() {
    announce("Dry run of the configuration started.");
    verdict.replaceChildren(h("p", {}, "The host reads the file and runs each slot’s self-test under its settings…"));
    try {
      show(result("A reload would succeed", await configure("trial", {}), WOULD));
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
      title: "Reload the configuration?",
      about: [
        h("p", {}, "The host first runs each slot’s self-test under the new settings. If one fails, nothing changes. Some keys need a restart."),
      ],
      verb: "Reload",
      done: "The configuration has been reloaded.",
    });
  const undo = () =>
    ask("undo", {
      title: "Return to the previous configuration?",
      about: [h("p", {}, "The file stays as it is: correct it before the next reload or restart.")],
      verb: "Undo",
      kind: "danger",
      done: "The previous configuration is in effect again.",
    });

  const back = h("button", { type: "button", class: "danger", hidden: true, click: undo }, "Undo…");
  const element = h(
    "div",
    { class: "actions" },
    h("button", { type: "button", click: dryRun }, "Dry run"),
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
      ["reloaded", generation === 0 ? "not since the host’s start" : `${generation} time${generation === 1 ? "" : "s"} since the host’s start`],
      ["previous revision", previous ? h("code", {}, short(previous)) : undefined],
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
      h("section", { class: "sheet", "aria-labelledby": "current-title" }, h("h2", { id: "current-title" }, "Current configuration"), present),
      doing
        ? h(
            "section",
            { class: "sheet", "aria-labelledby": "reload-title" },
            h("h2", { id: "reload-title" }, "Reload"),
            h("p", { class: "quiet" }, "A reload reads the file again. Environment variables and flags stay those of the start."),
            doing.element,
            verdict,
          )
        : h("p", { class: "quiet" }, "A reload needs a token with the scope admin."),
    ),
  );
  return { element, title: "Configuration" };
}
