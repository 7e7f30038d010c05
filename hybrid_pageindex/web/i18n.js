// What the page says, in the language of the browser or the one that was chosen.

import { remember, remembered } from "./storage.js";

export const LANGUAGES = /** @type {const} */ ({ en: "English", zh: "中文" });

/** @param {string} [name] */
const known = (name) => (name && name.slice(0, 2) in LANGUAGES ? name.slice(0, 2) : "");

export const language = known(remembered("language")) || known(navigator.languages.find(known)) || "en";

/** @param {string} name @returns {Promise<Record<string, string>>} */
const load = async (name) => (await fetch(`/web/texts/${name}.json`)).json();

const texts = await load(language);
document.documentElement.lang = language;

/**
 * A text by its name. `{name}` in it becomes what `given` says; 'one | many' is chosen by `given.n`.
 * @param {string} name @param {Record<string, string | number>} [given]
 */
export function t(name, given = {}) {
  let text = texts[name] ?? name;
  if ("n" in given && text.includes(" | ")) text = text.split(" | ")[given.n === 1 ? 0 : 1];
  return text.replace(/\{(\w+)\}/g, (whole, key) => (key in given ? shown(given[key]) : whole));
}

/** @param {string | number} value */
const shown = (value) => (typeof value === "number" ? number(value) : value);

/** @param {number} value */
export const number = (value) => value.toLocaleString(language);

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** @param {number} count of bytes */
export function bytes(count) {
  const power = count ? Math.min(Math.floor(Math.log10(count) / 3), UNITS.length - 1) : 0;
  return `${(count / 1000 ** power).toLocaleString(language, { maximumFractionDigits: power > 1 ? 1 : 0 })} ${UNITS[power]}`;
}

/** A day, or a month without one. @param {string} iso "2024-03-01" or "2024-03" */
export function day(iso) {
  const [year, month, date] = iso.split("-").map(Number);
  const own = navigator.languages.find((one) => one.startsWith(language)); // "4 May" or "May 4"
  return new Date(Date.UTC(year, month - 1, date || 1)).toLocaleDateString(own ?? language, { timeZone: "UTC", year: "numeric", month: "long", day: date ? "numeric" : undefined });
}

/** A span of time in whole minutes, or hours. @param {number} seconds */
export function span(seconds) {
  const [unit, size] = seconds >= 5400 ? ["hour", 3600] : ["minute", 60];
  return Math.ceil(seconds / size).toLocaleString(language, { style: "unit", unit, unitDisplay: "long" });
}

/** @param {string} iso "" for never */
export function ago(iso) {
  const seconds = iso ? (Date.parse(iso) - Date.now()) / 1000 : NaN;
  if (Number.isNaN(seconds)) return "";
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  for (const [unit, size] of /** @type {const} */ ([["day", 86400], ["hour", 3600], ["minute", 60]])) {
    if (Math.abs(seconds) >= size) return format.format(Math.round(seconds / size), unit);
  }
  return format.format(0, "minute");
}

/** @param {string} name */
export function choose(name) {
  remember("language", name);
  location.reload();
}
