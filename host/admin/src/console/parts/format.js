// Formats figures and times.

import { h } from "./dom.js";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats a number with up to three significant digits. */
export function number(value) {
  if (value === 0) return "0";
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/** Formats a whole number in groups of three digits. */
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

/** Formats the time since `at`. */
export const lasting = (at) =>
  h("time", { datetime: at, title: at }, `for ${span(Math.max(0, (Date.now() - Date.parse(at)) / 1000))}`);

/** Formats local date and time, to the second. */
export const moment = (at) =>
  h("time", { datetime: at, title: at }, new Date(at).toLocaleString("sv", { dateStyle: "short", timeStyle: "medium" }));

/** Shortens an id or a digest to its first digits. */
export const short = (digest) => digest.replace(/^sha256:/, "").slice(0, 12);
