// Beside the page: the document's sections, with the one that is read, its defined terms, dates, amounts, tables and figures.
import { useAnswer, wordsOf } from "../../answers.js";
import { get } from "../../api.js";
import { day, t } from "../../i18n.js";
import { link } from "../../router.js";
import { html, useMemo, useState } from "../../ui.js";
import { Outline } from "../library/Outline.js";
import { thumbnailOf } from "./addresses.js";
import { IconButton } from "./Icons.js";

const PARTS = /** @type {const} */ (["sections", "highlights", "terms", "dates", "amounts", "exhibits"]);

/** @typedef {(page: number, quote?: string) => void} OnPage */

/** @param {{ base: string, library: string, doc: string, info: any, page: number, highlights: any[], onRemove: (one: any) => void, onPage: OnPage }} props */
export function Contents({ base, library, doc, info, page, highlights, onRemove, onPage }) {
  const [part, setPart] = useState(/** @type {typeof PARTS[number]} */ ("sections"));
  return html`<nav class="contents" aria-label=${t("viewer.contents")}>
    <div class="row contents-head"><label class="grow"><span class="visually-hidden">${t("viewer.contents_show")}</span>
      <select value=${part} onChange=${(/** @type {any} */ event) => setPart(event.target.value)}>${PARTS.map((each) => html`<option key=${each} value=${each}>${t(`viewer.contents_${each}`)}</option>`)}</select></label>
      <a class="small" href=${link(["map", library, doc])}>${t("map.title")}</a></div>
    ${part === "sections" ? html`<${Outline} library=${library} doc=${doc} content=${info.content_id} page=${page} onPage=${onPage} />`
      : part === "highlights" ? html`<${Highlights} all=${highlights} content=${info.content_id} onRemove=${onRemove} onPage=${onPage} />`
      : part === "terms" ? html`<${Terms} base=${base} content=${info.content_id} onPage=${onPage} />`
      : html`<${Facts} base=${base} info=${info} part=${part} onPage=${onPage} />`}
  </nav>`;
}

/** A list of what a document states, to be narrowed by words.
 * @param {{ all: any[] | null, wrong: any, none: string, count: string, textOf: (each: any) => string, children: (shown: any[]) => any }} props */
function Narrowed({ all, wrong, none, count, textOf, children }) {
  const [words, setWords] = useState("");
  const asked = words.trim().toLocaleLowerCase();
  const shown = useMemo(() => (all ?? []).filter((each) => textOf(each).toLocaleLowerCase().includes(asked)), [all, asked]);
  if (wrong) return html`<p class="bad small" role="alert">${wordsOf(wrong)}</p>`;
  if (!all) return html`<p class="muted small" aria-busy="true">…</p>`;
  if (!all.length) return html`<p class="muted small">${t(none)}</p>`;
  return html`<input type="search" value=${words} placeholder=${t("library.find")} aria-label=${t("library.find")} onInput=${(/** @type {any} */ event) => setWords(event.target.value)} />
    <p class="muted small" role="status">${t(count, { n: shown.length })}</p>${children(shown)}`;
}

/** @param {{ all: any[], content: string, onRemove: (one: any) => void, onPage: OnPage }} props */
function Highlights({ all, content, onRemove, onPage }) {
  const order = useMemo(() => [...all].sort((a, b) => a.page - b.page || a.created_at - b.created_at), [all]);
  return html`<${Narrowed} all=${order} wrong=${null} none="viewer.no_highlights" count="viewer.highlights" textOf=${(/** @type {any} */ each) => `${each.quote} ${each.text}`}>${(/** @type {any[]} */ shown) =>
    html`<dl class="terms">${shown.map((each) => html`<div key=${each.id}><dt class="row"><button type="button" class="link grow" onClick=${() => onPage(each.page)}>${each.quote.slice(0, 200)}</button>
        <${IconButton} icon="remove" label=${t("notes.remove", { name: each.quote.slice(0, 60) })} onClick=${() => onRemove(each)} /></dt>
      <dd><span class="muted small">${t("search.page", { page: each.page })}${each.content_id !== content ? ` · ${t("notes.earlier")}` : ""}</span> ${each.text}</dd></div>`)}</dl>`}<//>`;
}

/** @param {{ base: string, content: string, onPage: OnPage }} props */
function Terms({ base, content, onPage }) {
  const { answer, wrong } = useAnswer((signal) => get(`${base}/glossary`, signal), [base, content], { fresh: true });
  return html`<${Narrowed} all=${answer} wrong=${wrong} none="viewer.no_terms" count="viewer.terms" textOf=${(/** @type {any} */ each) => each.term}>${(/** @type {any[]} */ shown) =>
    html`<dl class="terms">${shown.map((each) => html`<div key=${each.term}><dt><button type="button" class="link" onClick=${() => onPage(each.page, each.text)}>${each.term}</button>
      <span class="muted small"> ${t("search.page", { page: each.page })}</span></dt><dd>${each.text}</dd></div>`)}</dl>`}<//>`;
}

/** @param {{ base: string, info: any, part: "dates" | "amounts" | "exhibits", onPage: OnPage }} props */
function Facts({ base, info, part, onPage }) {
  const { answer, wrong } = useAnswer((signal) => get(`${base}/facts`, signal), [base, info.content_id], { fresh: true });
  const textOf = (/** @type {any} */ each) => `${each.date ? day(each.date) : ""} ${each.title ?? each.text}`;
  const where = (/** @type {any} */ each) => html`<span class="muted small"> ${t("search.page", { page: each.page })}${each.mentions > 1 ? ` · ${t("viewer.mentions", { n: each.mentions })}` : ""}</span>`;
  return html`<${Narrowed} key=${part} all=${answer?.[part] ?? null} wrong=${wrong} none=${`viewer.no_${part}`} count=${`viewer.${part}`} textOf=${textOf}>${(/** @type {any[]} */ shown) => part === "exhibits"
    ? html`<ul class="exhibits">${shown.map((each, at) => html`<li key=${at}><button type="button" onClick=${() => onPage(each.page)}>
        <img src=${thumbnailOf(base, each.page, info.content_id)} alt="" loading="lazy" decoding="async" />
        <span>${each.title || t(`viewer.exhibit_${each.kind}`)}${where(each)}</span></button></li>`)}</ul>`
    : html`<dl class="terms">${shown.map((each, at) => html`<div key=${at}><dt><button type="button" class="link" onClick=${() => onPage(each.page, each.text)}>${each.date ? day(each.date) : each.text}</button>${where(each)}</dt>
        ${each.date && html`<dd>${each.text}</dd>`}</div>`)}</dl>`}<//>`;
}
