// A status component: reports the figures of the appointment system, as the host has collected them.
//
// Which figures are reported and what counts as a problem is up to this component: change `judge` and `report`.

import { readPartial } from "bulkhead:status/appointments@0.1.1";

// Mails that wait for longer are late, seconds.
const LATE_MAIL_SECONDS = 900n;
const LEVELS = ["ok", "warning", "critical", "fatal"];

function read(statistics) {
  try {
    return readPartial(statistics).figures;
  } catch (error) {
    throw { tag: "unknown", val: String(error.payload?.val ?? error) };
  }
}

// Returns when the oldest of the figures were collected.
function collectedAt(figures) {
  const times = figures.collections.map((one) => one.succeededAt).filter((time) => time !== undefined);
  if (times.length === 0) throw { tag: "unknown", val: "no figures have been collected yet" };
  return Math.min(...times);
}

function judge(figures) {
  const findings = [];
  if (figures.mail && (figures.mail.oldestSeconds ?? 0n) > LATE_MAIL_SECONDS) {
    findings.push(["warning", `the oldest mail waits for ${figures.mail.oldestSeconds} s`]);
  }
  for (const one of figures.collections) {
    if (one.error !== undefined) findings.push(["critical", `${one.section}: ${one.error}`]);
  }
  const worst = Math.max(0, ...findings.map(([level]) => LEVELS.indexOf(level)));
  return { level: LEVELS[worst], text: findings.map(([, text]) => text).join("; ") || "all is well" };
}

function report(figures, version) {
  const data = { version, time: figures.now.text };
  if (figures.processes) {
    const { total, confirmed } = figures.processes;
    data.appointments = { total: Number(total), confirmed: Number(confirmed) };
  }
  if (figures.mail) data.mail = { queued: Number(figures.mail.queued) };
  return data;
}

export const reports = {
  status(options) {
    const figures = read(options.statistics);
    return { data: JSON.stringify(report(figures, options.version)), collectedAt: collectedAt(figures) };
  },

  health() {
    return judge(read(false));
  },

  metrics(version) {
    const { mail } = read(true);
    const gauge = (name, help, labels, value) => ({ name, help, kind: "gauge", samples: [{ labels, value }] });
    const families = [gauge("zms_info", "The deployed system.", [["version", version]], 1)];
    if (mail) families.push(gauge("zms_mail_queued", "Mails that wait.", [], Number(mail.queued)));
    return families;
  },
};

export function selfTest() {
  const collections = [{ section: "mail", error: "timeout" }];
  const { level, text } = judge({ collections });
  if (level !== "critical" || text !== "mail: timeout") throw "a section that cannot be read is not reported";
}
