// Two documents side by side: what was added, removed and changed, section by section, and which figures differ.
import { useAnswer, wordsOf } from "../../answers.js";
import { at, get, post, query } from "../../api.js";
import { number, t } from "../../i18n.js";
import { go, link, pageLink } from "../../router.js";
import { html, useState } from "../../ui.js";

const MOST = 50, DOCUMENTS = 1000; // sections, and documents to choose from
const KINDS = ["changed", "added", "removed", "moved"];

/** @param {{ given: URLSearchParams }} props */
export function Compare({ given }) {
  const library = given.get("library") ?? "", left = given.get("left") ?? "", right = given.get("right") ?? "";
  const list = useAnswer((signal) => get(at("libraries", library, "documents") + query({ state: "published", limit: DOCUMENTS, sort: "title" }), signal), [library], { skip: !library });
  /** @type {any[]} */
  const documents = list.answer?.documents ?? [];
  const [kinds, setKinds] = useState(/** @type {Set<string>} */ (new Set(KINDS))), [figures, onlyFigures] = useState(false);
  const asked = { left: { document: left, library }, right: { document: right, library }, limit: MOST };
  const { answer: found, wrong: failure, extend } = useAnswer((signal) => post("/compare", asked, signal), [library, left, right], { fresh: true, skip: !left || !right });
  const wrong = wordsOf(failure);
  const more = () => extend((signal) => post("/compare", { ...asked, cursor: found.cursor }, signal), (now, next) => ({ ...next, sections: [...now.sections, ...next.sections] }));
  const turn = (/** @type {string} */ kind) => setKinds((now) => {
    const next = new Set(now);
    next[next.has(kind) ? "delete" : "add"](kind);
    return next;
  });
  const choose = (/** @type {string} */ side) => html`<label class="grow">${t(`compare.${side}`)}<select value=${given.get(side) ?? ""}
      onChange=${(/** @type {any} */ event) => go(link(["compare"], { library, left, right, [side]: event.target.value }))}>
      <option value="">${t("compare.choose")}</option>${documents.map((doc) => html`<option key=${doc.doc_id} value=${doc.doc_id}>${doc.title && doc.title !== doc.name ? `${doc.title} (${doc.name})` : doc.name}</option>`)}</select></label>`;
  const sections = (found?.sections ?? []).filter((/** @type {any} */ section) => kinds.has(section.kind) && (!figures || section.figures > 0));
  return html`<div class="view compare stack"><h1>${t("compare.title")}</h1>
    <div class="row form">${choose("left")}${choose("right")}
      ${left && right && html`<button type="button" onClick=${() => go(link(["compare"], { library, left: right, right: left }))}>${t("compare.swap")}</button>`}</div>
    ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
    ${left && right && !found && !wrong && html`<div class="card waiting-card" aria-busy="true" />`}
    <p role="status" class=${found ? "" : "visually-hidden"}>${found && (found.added + found.removed + found.changed + found.moved
      ? t("compare.counts", { changed: found.changed, added: found.added, removed: found.removed, moved: found.moved, unchanged: found.unchanged }) : t("compare.same"))}</p>
    ${found?.sections.length > 0 && html`<div class="row" role="group" aria-label=${t("compare.show")}>
      ${KINDS.filter((kind) => found[kind]).map((kind) => html`<button type="button" key=${kind} aria-pressed=${String(kinds.has(kind))} onClick=${() => turn(kind)}>${t(`compare.kind_${kind}`)} (${number(found[kind])})</button>`)}
      <label class="row"><input type="checkbox" checked=${figures} onChange=${(/** @type {any} */ event) => onlyFigures(event.target.checked)} />${t("compare.only_figures")}</label></div>
      <div class="compare-heads" aria-hidden="true">${[found.left, found.right].map((doc) => html`<div><b>${doc.title || doc.document}</b>${doc.title && doc.title !== doc.document && html`<small class="muted"> ${doc.document}</small>`}</div>`)}</div>`}
    ${sections.map((/** @type {any} */ section) => html`<${Changed} key=${`${section.left?.node_id} ${section.right?.node_id}`} section=${section} found=${found} />`)}
    ${found?.cursor && html`<button type="button" onClick=${more}>${t("count.further")}</button>`}
  </div>`;
}

function Changed({ section, found }) {
  const heading = (/** @type {any} */ side, /** @type {any} */ doc) => side
    ? html`<h3><a href=${pageLink(doc.library, doc.doc_id, side.start_page)}>${side.title}</a> <span class="muted small">${t("search.page", { page: side.start_page })}</span></h3>`
    : html`<h3 class="muted">${t("compare.none")}</h3>`;
  const cell = (/** @type {string} */ text, /** @type {number} */ page, /** @type {any} */ doc, /** @type {string} */ kind) => html`<div class=${`words ${text ? kind : ""}`}>${text
    ? html`${kind === "before" ? html`<del>${text}</del>` : html`<ins>${text}</ins>`} ${page ? html`<a class="small" href=${pageLink(doc.library, doc.doc_id, page, text.slice(0, 200))}>${t("search.page", { page })}</a>` : null}` : "–"}</div>`;
  const left = section.changes.length + section.figure_changes.length;
  return html`<article class="card compare-section" aria-label=${(section.right ?? section.left).title}>
    <p class="small"><span class="state-chip">${t(`compare.one_${section.kind}`)}</span>
      ${section.kind === "changed" && html` <span class="muted">· ${t("compare.alike", { share: Math.round(section.similarity * 100) })}</span>`}
      ${section.figures > 0 && html` <span class="muted">· ${t("compare.figures", { n: section.figures })}</span>`}</p>
    <div class="pair">${heading(section.left, found.left)}${heading(section.right, found.right)}</div>
    ${section.figure_changes.length > 0 && html`<table class="plain"><caption class="visually-hidden">${t("compare.figures", { n: section.figures })}</caption>
      <thead><tr><th scope="col">${t("compare.figure")}</th><th scope="col">${t("compare.left")}</th><th scope="col">${t("compare.right")}</th></tr></thead>
      <tbody>${section.figure_changes.map((/** @type {any} */ change, /** @type {number} */ at) => html`<tr key=${at}><th scope="row">${change.label || "…"}</th><td><del>${change.before}</del></td><td><ins>${change.after}</ins></td></tr>`)}</tbody></table>`}
    ${section.changes.map((/** @type {any} */ change, /** @type {number} */ at) => html`<div key=${at} class="pair">${cell(change.before, change.left_page, found.left, "before")}${cell(change.after, change.right_page, found.right, "after")}</div>`)}
    ${section.differences > section.changes.length && left > 0 && html`<p class="muted small">${t("compare.unlisted", { n: section.differences - section.changes.length })}</p>`}
  </article>`;
}
