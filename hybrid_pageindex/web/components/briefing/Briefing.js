// What a library or a document is, in one look, and questions to begin with: by rules, or as a model says it.
import { useAnswer } from "../../answers.js";
import { at, get, query } from "../../api.js";
import { number, t } from "../../i18n.js";
import { go, pageLink } from "../../router.js";
import { html, useEffect, useState } from "../../ui.js";
import { searchLink } from "../search/asking.js";

/** @param {string} library @param {string} [doc] */
export const briefingPath = (library, doc) => (doc ? at("libraries", library, "documents", doc, "briefing") : at("libraries", library, "briefing"));

/**
 * Questions that pages answer, for whoever does not know what to ask.
 * @param {{ questions: any[], onAsk: (question: any) => void, sources?: boolean }} props
 */
export function Questions({ questions, onAsk, sources = false }) {
  return html`<ul class="questions">${questions.map((one) => html`<li key=${one.question}><button type="button" onClick=${() => onAsk(one)}>${one.question}
    ${sources && html`<small>${one.doc_name}, ${t("conversation.page_of", { page: one.page })}</small>`}</button></li>`)}</ul>`;
}

/** The questions that a scope begins with; nothing where there are none. @param {{ library: string, doc?: string, onAsk: (question: any) => void }} props */
export function Beginning({ library, doc, onAsk }) {
  const { answer } = useAnswer((signal) => get(briefingPath(library, doc), signal), [library, doc], { fresh: true });
  const questions = answer?.questions ?? [];
  return questions.length ? html`<section class="beginning"><h2>${t("briefing.questions")}</h2><${Questions} questions=${questions} onAsk=${onAsk} sources=${!doc} /></section>` : null;
}

/** @param {{ library: string, doc?: string }} props without a document it is about the library */
export function Briefing({ library, doc = "" }) {
  const [open, setOpen] = useState(false), [opened, setOpened] = useState(false), [by, setBy] = useState(false);
  const { answer: found, wrong, look } = useAnswer((signal) => get(briefingPath(library, doc) + query({ model: by || undefined }), signal),
    [library, doc, by], { skip: !opened });
  const { answer: settings } = useAnswer((signal) => get("/settings", signal), [], { skip: !opened });
  const model = settings?.find((/** @type {any} */ one) => one.name === "llm_model")?.value ?? "";
  const busy = opened && !wrong && (!found || (by && !found.written_by));
  useEffect(() => { setOpen(false); setOpened(false); setBy(false); }, [library, doc]);
  useEffect(() => void (open && setOpened(true)), [open]); // what was read once stays
  return html`<details class="briefing" open=${open} onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}>
    <summary>${t(doc ? "briefing.document" : "briefing.library")}</summary>
    ${wrong && html`<p class="remark bad" role="alert">${wrong.message} ${wrong.advice} <button type="button" class="quiet-button" onClick=${look}>${t("viewer.again")}</button></p>`}
    ${open && !found && busy && html`<div class="lines" aria-busy="true"><i /><i /><i /></div>`}
    ${found && html`<div class="briefing-body" aria-busy=${String(busy)}>
      <p class="facts-line">${!doc && html`<span>${t("library.count", { n: found.documents })}</span>`}<span>${t("conversation.pages", { n: found.pages })}</span>
        ${found.kinds.map((/** @type {[string, number]} */ [kind, count]) => html`<span key=${kind}>${doc ? kind : `${kind} ${number(count)}`}</span>`)}
        ${found.years.length > 0 && html`<span>${found.years.length > 3 ? `${found.years[0]}–${found.years[found.years.length - 1]}` : found.years.join(", ")}</span>`}
        ${found.names.map((/** @type {string} */ name) => html`<span key=${name}>${name}</span>`)}</p>
      ${found.written_by && html`<p>${found.description}</p>`}
      <div class="briefing-columns">
        <section><h2>${t(doc ? "briefing.parts" : "briefing.documents")}</h2><ol class="briefing-parts">${found.parts.map((/** @type {any} */ part) => html`<li key=${part.doc_id + part.start_page + part.title}>
          <a href=${pageLink(library, part.doc_id, part.start_page)}>${part.title}</a> ${doc && html`<small>${part.start_page === part.end_page ? part.start_page : `${part.start_page}–${part.end_page}`}</small>`}</li>`)}</ol></section>
        <div>${found.figures.length > 0 && html`<section><h2>${t("briefing.figures")}</h2><ul class="briefing-figures">${found.figures.map((/** @type {any} */ one) => html`<li key=${one.text}>${one.text}
            <a href=${pageLink(library, one.doc_id, one.page, one.text)}>${t("viewer.page", { page: one.page })}</a></li>`)}</ul></section>`}
          ${found.questions.length > 0 && html`<section><h2>${t("briefing.questions")}</h2><${Questions} questions=${found.questions} sources=${!doc}
            onAsk=${(/** @type {any} */ one) => go(searchLink({ q: one.question, library, documents: doc ? [doc] : [] }))} /></section>`}</div>
      </div>
      <p class="muted small">${found.written_by ? t("briefing.by_model", { model: found.written_by }) : t("briefing.by_rules")}
        ${model && !found.written_by && html` <button type="button" class="quiet-button" disabled=${busy} onClick=${() => setBy(true)}>${t("briefing.ask_model")}</button>`}</p>
    </div>`}
  </details>`;
}
