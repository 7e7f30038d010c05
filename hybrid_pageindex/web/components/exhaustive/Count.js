// Every place of words: counted by document, each with its lines.
import { useAnswer, wordsOf } from "../../answers.js";
import { post } from "../../api.js";
import { number, t } from "../../i18n.js";
import { useLibraries } from "../../libraries.js";
import { go, link, pageLink } from "../../router.js";
import { html, useEffect, useState } from "../../ui.js";

const MOST = 100; // documents, or pages of one, at once
const SECONDS = 10; // that are looked for longest

/** @param {{ given: URLSearchParams }} props */
export function Count({ given }) {
  const q = given.get("q") ?? "", library = given.get("library") ?? "", regex = given.has("regex");
  const [text, setText] = useState(q);
  const libraries = useLibraries();
  const scope = library ? { libraries: [library] } : { all_libraries: true };
  const asked = { pattern: q, regex, ...scope, listed: "documents", limit: MOST, seconds: SECONDS };
  const { answer: found, wrong: failure, extend } = useAnswer((signal) => post("/grep", asked, signal), [q, library, regex], { fresh: true, skip: !q });
  const wrong = wordsOf(failure);
  useEffect(() => setText(q), [q, library, regex]);
  const look = (/** @type {Record<string, any>} */ more) => go(link(["count"], { q: text.trim(), library, regex: regex ? 1 : "", ...more }));
  const more = () => extend((signal) => post("/grep", { ...asked, cursor: found.cursor }, signal), (now, next) => ({ ...next, documents: [...now.documents, ...next.documents] }));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    look({});
  };
  return html`<div class="view count stack"><h1>${t("count.title")}</h1><p class="muted">${t("count.more")}</p>
    <form class="row form" role="search" onSubmit=${submit}>
      <label class="grow">${t("count.words")}<input type="search" required maxlength="500" value=${text} autofocus=${!q} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
      <label>${t("search.where")}<select value=${library} onChange=${(/** @type {any} */ event) => look({ library: event.target.value })}>
        <option value="">${t("search.everywhere")}</option>${libraries.map((each) => html`<option key=${each.id} value=${each.name}>${each.alias || each.name}</option>`)}</select></label>
      <label class="row"><input type="checkbox" checked=${regex} onChange=${(/** @type {any} */ event) => look({ regex: event.target.checked ? 1 : "" })} />${t("count.regex")}</label>
      <button class="primary">${t("count.do")}</button></form>
    ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
    <p role="status" class=${found ? "" : "visually-hidden"}>${found && html`<strong>${t("count.matches", { n: found.total_matches })}</strong>
      ${" "}${t("count.on", { pages: found.total_pages, n: found.total_documents })}${found.complete ? "" : html` <span class="warn">${found.note}</span>`}`}</p>
    ${q && !found && !wrong && html`<div class="card waiting-card" aria-busy="true" />`}
    ${found?.documents.length > 0 && html`<ul class="count-list">${found.documents.map((/** @type {any} */ doc) => html`<${Counted} key=${doc.library + doc.doc_id} doc=${doc} q=${q} regex=${regex}
      most=${Math.max(...found.documents.map((each) => each.matches))} library=${doc.library} />`)}</ul>`}
    ${found?.cursor && html`<button type="button" onClick=${more}>${t("count.further")}</button>`}
  </div>`;
}

/** One document with its count; its places are asked for when it is opened. */
function Counted({ doc, q, regex, most, library }) {
  const [open, setOpen] = useState(false), [opened, setOpened] = useState(false);
  const ask = (/** @type {AbortSignal} */ signal, cursor = "") =>
    post("/grep", { pattern: q, regex, libraries: [library], documents: [doc.doc_id], listed: "pages", limit: MOST, seconds: SECONDS, cursor }, signal);
  const { answer: pages, wrong, extend } = useAnswer(ask, [q, regex, doc.doc_id], { fresh: true, skip: !opened });
  const more = () => extend((signal) => ask(signal, pages.cursor), (now, next) => ({ ...next, pages: [...now.pages, ...next.pages] }));
  return html`<li><details onToggle=${(/** @type {any} */ event) => (setOpen(event.currentTarget.open), event.currentTarget.open && setOpened(true))}>
    <summary><span class="count-name">${doc.title || doc.document}${doc.title && doc.title !== doc.document && html`<small class="muted"> ${doc.document}</small>`}</span> <meter min="0" max=${most} value=${doc.matches} aria-hidden="true" />
      <span class="count-number">${number(doc.matches)}</span> <span class="muted small">${t("library.pages", { n: doc.pages })}</span></summary>
    ${open && !pages && !wrong && html`<p class="muted small" aria-busy="true">…</p>`}
    ${(pages?.note || wrong) && html`<p class="warn small">${wrong ? wrong.message : pages.note}</p>`}
    <ol>${(pages?.pages ?? []).map((/** @type {any} */ page) => html`<li key=${page.page}><a href=${pageLink(library, doc.doc_id, page.page, page.places[0] ? matched(page.places[0], q, regex) : "")}>${t("search.page", { page: page.page })}</a>${" "}
      <span class="muted small">${t("count.matches", { n: page.matches })}</span>
      ${page.places.map((/** @type {any} */ place) => html`<p key=${place.start} class="count-line">${marked(place.text, q, regex)}</p>`)}</li>`)}</ol>
    ${pages?.cursor && html`<button type="button" onClick=${more}>${t("count.further")}</button>`}
  </details></li>`;
}

/** The pattern of what was looked for, as far as the browser knows it too. @param {string} q @param {boolean} regex */
function patternOf(q, regex) {
  try {
    const words = q.replace(/^"|"$/g, "").split(/\s+/).map((word) => word.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[\\p{L}\\p{N}]*"));
    return new RegExp(regex ? q : words.join("\\s+"), "giu");
  } catch {
    return null; // RE2 knows some that JavaScript does not
  }
}

/** @param {string} text @param {string} q @param {boolean} regex */
function marked(text, q, regex) {
  const pattern = patternOf(q, regex), parts = [];
  let end = 0;
  for (const match of pattern ? text.matchAll(pattern) : []) {
    if (!match[0]) continue;
    parts.push(text.slice(end, match.index), html`<mark>${match[0]}</mark>`);
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

/** @param {any} place @param {string} q @param {boolean} regex */
const matched = (place, q, regex) => place.text.match(patternOf(q, regex) ?? /^.*/)?.[0] ?? "";
