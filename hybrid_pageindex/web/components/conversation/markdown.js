// Answers as they are written, Markdown, made elements: text stays text, so nothing that a page or a model says is run.
import { html } from "../../ui.js";

/** @typedef {(number: number, key: string) => any} Cite what stands for a citation */

const INLINE = /\\([\\`*_[\]<>#|()-])|\[\[source:(\d+)\]\]|`([^`\n]+)`|\*\*(.+?)\*\*(?!\*)|(?<![\w*])[*_](?![\s*_])(.+?)(?<![\s*_\\])[*_](?!\w)/g;

/** @param {string} text @param {Cite} cite @returns {any[]} */
export function inline(text, cite) {
  /** @type {any[]} */ const made = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) made.push(text.slice(at, match.index));
    const [whole, escaped, source, code, strong, soft] = match;
    if (escaped) made.push(escaped);
    else if (source) made.push(cite(Number(source), `${match.index}`));
    else if (code) made.push(html`<code>${code}</code>`);
    else if (strong) made.push(html`<strong>${inline(strong, cite)}</strong>`);
    else made.push(html`<em>${inline(soft, cite)}</em>`);
    at = match.index + whole.length;
  }
  made.push(text.slice(at));
  return made;
}

const ITEM = /^(\s*)(?:[-*+]|(\d+)[.)])\s+(.*)$/;
const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim());
const indent = (line) => line.length - line.trimStart().length;

/** @param {string[]} lines @param {Cite} cite @returns {any[]} */
function blocks(lines, cite) {
  /** @type {any[]} */ const made = [];
  let at = 0;
  const take = (fits) => {
    const begin = at;
    while (at < lines.length && fits(lines[at])) at++;
    return lines.slice(begin, at);
  };
  while (at < lines.length) {
    const line = lines[at], item = line.match(ITEM);
    if (!line.trim()) at++;
    else if (line.trimStart().startsWith("```")) {
      at++;
      const code = take((one) => !one.trimStart().startsWith("```"));
      at++;
      made.push(html`<pre><code>${code.join("\n")}</code></pre>`);
    } else if (/^#{1,6}\s/.test(line)) {
      made.push(html`<p class="head"><strong>${inline(line.replace(/^#+\s+/, ""), cite)}</strong></p>`);
      at++;
    } else if (line.trimStart().startsWith(">")) {
      made.push(html`<blockquote>${blocks(take((one) => one.trimStart().startsWith(">")).map((one) => one.replace(/^\s*>\s?/, "").replace(/ {2}$/, "\n")), cite)}</blockquote>`);
    } else if (line.includes("|") && /^[\s|:-]+$/.test(lines[at + 1] || "") && lines[at + 1].includes("-")) {
      const [head, , ...rows] = take((one) => one.includes("|"));
      made.push(html`<div class="scroll"><table><thead><tr>${cells(head).map((cell) => html`<th scope="col">${inline(cell, cite)}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${cells(row).map((cell) => html`<td>${inline(cell, cite)}</td>`)}</tr>`)}</tbody></table></div>`);
    } else if (item) made.push(list(lines, cite, () => at, (to) => (at = to)));
    else {
      const text = take((one) => one.trim() && !ITEM.test(one) && !/^\s*(>|```|#{1,6}\s)/.test(one));
      if (!text.length) text.push(lines[at++]);
      made.push(html`<p>${text.flatMap((one, number) => [number ? (text[number - 1].endsWith("\n") ? html`<br />` : " ") : "", ...inline(one.trim(), cite)])}</p>`);
    }
  }
  return made;
}

/** A list, whose items hold what is indented below them. */
function list(lines, cite, where, move) {
  const first = /** @type {RegExpMatchArray} */ (lines[where()].match(ITEM)), depth = first[1].length, numbered = first[2];
  const items = [];
  let at = where();
  while (at < lines.length) {
    const item = lines[at].match(ITEM);
    if (!item || indent(lines[at]) !== depth || Boolean(item[2]) !== Boolean(numbered)) break;
    const inner = [item[3]];
    for (at++; at < lines.length && (!lines[at].trim() ? indent(lines[at + 1] || "") > depth && at + 1 < lines.length : indent(lines[at]) > depth); at++) inner.push(lines[at].slice(depth + 2));
    while (at < lines.length && !lines[at].trim() && ITEM.test(lines[at + 1] || "") && indent(lines[at + 1]) === depth) at++;
    items.push(html`<li>${blocks(inner, cite)}</li>`);
  }
  move(at);
  return numbered ? html`<ol start=${Number(numbered)}>${items}</ol>` : html`<ul>${items}</ul>`;
}

/** @param {{ text: string, cite: Cite }} props */
export const Markdown = ({ text, cite }) => html`<div class="markdown">${blocks(text.split("\n"), cite)}</div>`;
