import { html } from "../../ui.js";
import { rangesOf } from "./highlights.js";
import { patternOf } from "./placing.js";

/** The parts of a text that are marked: what was cited, what is looked for, and the hit that is shown. */
function ranges(text, quote, matches, now, highlights) {
  const found = matches.map((match) => ({ start: match.start, end: match.end, kind: match === now ? "hit now" : "hit" }));
  for (const part of quote.split("…")) {
    const pattern = patternOf(part), match = pattern && pattern.exec(text);
    if (match) found.push({ start: match.index, end: match.index + match[0].length, kind: "mark" });
  }
  return [...found, ...around(rangesOf(highlights, text), found)].sort((a, b) => a.start - b.start);
}

/** Highlights without what is marked by other means. */
const around = (highlights, found) => found.reduce((left, { start, end }) => left.flatMap((one) => [
  { ...one, end: Math.min(one.end, start) }, { ...one, start: Math.max(one.start, end) },
].filter((part) => part.start < part.end)), highlights);

/** A page as its text, for formats that have no look, and for who wants to read it so. */
export function PageText({ text, quote, matches, now, highlights }) {
  const parts = [];
  let at = 0;
  for (const one of ranges(text, quote, matches, now, highlights)) {
    if (one.start < at) continue;
    parts.push(text.slice(at, one.start), html`<mark class=${one.kind}>${text.slice(one.start, one.end)}</mark>`);
    at = one.end;
  }
  return html`<div class="page-text" tabindex="0">${parts}${text.slice(at)}</div>`;
}
