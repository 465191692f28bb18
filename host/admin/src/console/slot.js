// The view of one slot: statistics, versions, actions, history and log.

import * as api from "./api.js";
import { h, whenChanged } from "./parts/dom.js";
import { doing } from "./slot/doing.js";
import { versionHistory } from "./slot/history.js";
import { logTail } from "./slot/logs.js";
import { poll } from "./parts/poll.js";
import { may } from "./session.js";
import { shadowing } from "./slot/shadow.js";
import { pills } from "./parts/state.js";
import { upload } from "./slot/upload.js";
import { versions } from "./slot/versions.js";

/** Steps of five minutes. */
const STEPS = 150;

/** The view. */
export function slot(name, signal) {
  let present;
  const place = { name, slot: () => present, refresh: () => again(), canShadow: false };
  const state = h("p", { class: "pills" });
  const world = h("p", { class: "quiet" });
  const figures = doing(name, STEPS);
  const answering = versions(place);
  const inShadow = shadowing(place);
  const past = versionHistory(place);
  // These panels need the slot and are shown when it is known.
  const panels = h("div", { class: "panels", hidden: true }, figures.element, answering.element, inShadow.element);
  const taking = may("deploy") ? upload(place) : undefined;
  if (taking) panels.append(taking.element);
  else panels.append(h("p", { class: "quiet" }, "This token can read, but not change anything."));
  panels.append(past.element);

  const showState = whenChanged((slot) => {
    state.replaceChildren(...pills(slot));
    world.replaceChildren(`${slot.world}, generation ${slot.generation}`);
  });
  const again = poll(async (signal) => {
    const [slot, versions, statistics] = await Promise.all([
      api.slot(name, signal),
      api.history(name, signal),
      api.statistics(name, STEPS, signal),
    ]);
    present = slot;
    place.canShadow = await api.offers("/v1/slots/{slot}/shadow", "post");
    showState(slot);
    figures.update(statistics);
    answering.update(slot);
    taking?.update(slot);
    past.update(slot, versions);
    if (panels.hidden) {
      panels.hidden = false;
      // Added when the panels are visible, because the log scrolls to its end.
      panels.append(logTail(name, signal));
    }
    await inShadow.update(slot, signal);
  }, signal);

  const element = h(
    "div",
    {},
    h("p", {}, h("a", { href: "#/" }, "All slots")),
    h("div", { class: "between" }, h("h1", { tabindex: "-1" }, name), state),
    world,
    panels,
  );
  return { element, title: name };
}
