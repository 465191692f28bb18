// The status form: shows figures of the appointment system as tiles, and the findings of its health check.

import { call, form } from "../call.js";
import { byId, facts, h } from "../dom.js";

/** Titles of figures, with their paths in the payload. */
const TILES = [
  ["Appointments", "processes", "total"],
  ["Confirmed", "processes", "confirmed"],
  ["Reserved", "processes", "reserved"],
  ["Called", "processes", "called"],
  ["Missed", "processes", "missed"],
  ["Booked since midnight", "processes", "sinceMidnight"],
  ["Booked in seven days", "processes", "last7days"],
  ["Bookable times", "processes", "freeSlots"],
  ["Waiting mails", "mail", "queueCount"],
  ["Sessions", "useraccounts", "activeSessions"],
];

const KINDS = { OK: "good", WARN: "warn", CRIT: "bad", FATAL: "bad" };

const tile = (name, value, kind = "") =>
  h("li", { class: "tile" }, h("div", { class: `big ${kind}` }, String(value)), h("div", { class: "quiet" }, name));

export async function start({ base }) {
  const section = byId("status");
  const run = form(section, async () => {
    const headers = { "x-token": byId("status-token").value };
    const { data } = await call(`${base}/status/`, { headers });
    // With a finding of CRIT or FATAL the answer is 500 with the same body.
    const health = await call(`${base}/healthcheck/?format=json`, { accepts: [500] });
    const figures = TILES.map(([name, group, figure]) => [name, data[group]?.[figure]]);
    const known = figures.filter(([, value]) => value !== undefined && value !== null);
    const findings = (health.findings ?? []).map((finding) => h("li", {}, `${finding.level}: ${finding.text}`));
    return [
      h("ul", { class: "tiles" }, tile("Health", health.level, KINDS[health.level]), ...known.map(([name, value]) => tile(name, value))),
      facts([["Last appointment", data.processes?.lastInsert]]),
      ...(findings.length === 0 ? [] : [h("h3", {}, "Findings"), h("ul", { class: "links" }, ...findings)]),
    ];
  });
  await run();
}
