// Figures and times as people read them.

import { h } from "./dom.js";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Up to three digits that count. */
export function number(value) {
  if (value === 0) return "0";
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/** Whole numbers in groups of three. */
export const whole = (value) => value.toLocaleString("en");

export const perSecond = (value) => `${number(value)}/s`;

export function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${number(value * 1000)} µs`;
  return value < 1000 ? `${number(value)} ms` : `${number(value / 1000)} s`;
}

export function bytes(value) {
  if (value < 1024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB"];
  const power = Math.min(Math.floor(Math.log2(value) / 10), units.length);
  return `${number(value / 1024 ** power)} ${units[power - 1]}`;
}

function span(seconds) {
  const count = (value, unit) => `${value} ${unit}${value === 1 ? "" : "s"}`;
  if (seconds < MINUTE) return "less than a minute";
  if (seconds < HOUR) return count(Math.floor(seconds / MINUTE), "minute");
  if (seconds < DAY) return count(Math.floor(seconds / HOUR), "hour");
  return count(Math.floor(seconds / DAY), "day");
}

/** How long something has lasted that began then. */
export const lasting = (at) =>
  h("time", { datetime: at, title: at }, `for ${span(Math.max(0, (Date.now() - Date.parse(at)) / 1000))}`);

/** Date and time of this place, to the second. */
export const moment = (at) =>
  h("time", { datetime: at, title: at }, new Date(at).toLocaleString("sv", { dateStyle: "short", timeStyle: "medium" }));

/** The first digits of an id or a digest. */
export const short = (digest) => digest.replace(/^sha256:/, "").slice(0, 12);
