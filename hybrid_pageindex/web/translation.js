// What the server says, in the language of the page. Its English text comes with a code and parameters, from which a
// template of the language is filled; the text itself is never read.
import { language } from "./i18n.js";

/** @typedef {{ code: string, params: Record<string, any> }} Code of a note; a parameter may be a note or a list of them */

/** @type {Record<string, string>} */
const templates = language === "en" ? {} : await (await fetch(`/web/texts/${language}.notes.json`)).json();

const FIELD = /\{(\w+)(?::([^{}|]*))?\}/g;

/** A note in the language of the page. @param {string} text in English @param {Code | null} [code] */
export function noteText(text, code) {
  return (language !== "en" && code && filled(code)) || text;
}

/** Several notes. @param {string[]} texts @param {(Code | null)[]} [codes] */
export const noteTexts = (texts, codes) => texts.map((text, at) => noteText(text, codes?.[at]));

/** The text of a code, "" where a template lacks. @param {Code} code @returns {string} */
function filled({ code, params }) {
  const template = templates[code];
  if (template === undefined) return "";
  let whole = true;
  const text = template.replace(FIELD, (_, name, form) => {
    const value = shown(params[name], form);
    whole &&= value !== null;
    return value ?? "";
  });
  return whole ? text : "";
}

/** @param {any} value @param {string} [form] @returns {string | null} */
function shown(value, form) {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) {
    const parts = value.map((one) => shown(one));
    return parts.includes(null) ? null : parts.join(form ?? ", ");
  }
  if (typeof value === "object") return filled(value) || null;
  if (typeof value !== "number" || !form) return String(value);
  return form.endsWith("%") ? `${Math.round(value * 100)}%` : value.toFixed(Number(form.match(/\d+/)?.[0] ?? 0));
}
