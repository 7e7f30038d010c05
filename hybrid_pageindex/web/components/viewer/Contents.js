// Beside the page: the document's sections, with the one that is read, and the terms that it defines.
import { useAnswer } from "../../answers.js";
import { get } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useMemo, useState } from "../../ui.js";
import { Outline } from "../library/Outline.js";

const PARTS = ["sections", "terms"];

/** @param {{ base: string, library: string, doc: string, info: any, page: number, onPage: (page: number, quote?: string) => void }} props */
export function Contents({ base, library, doc, info, page, onPage }) {
  const [part, setPart] = useState("sections");
  return html`<nav class="contents" aria-label=${t("viewer.contents")}>
    <div class="views" role="group" aria-label=${t("viewer.contents")}>${PARTS.map((each) => html`<button type="button" class="view" key=${each}
      aria-pressed=${String(part === each)} onClick=${() => setPart(each)}>${t(`viewer.contents_${each}`)}</button>`)}</div>
    ${part === "sections" ? html`<${Outline} library=${library} doc=${doc} content=${info.content_id} page=${page} onPage=${onPage} />`
      : html`<${Terms} base=${base} content=${info.content_id} onPage=${onPage} />`}
  </nav>`;
}

function Terms({ base, content, onPage }) {
  const [words, setWords] = useState("");
  const { answer, wrong } = useAnswer((signal) => get(`${base}/glossary`, signal), [base, content], { fresh: true });
  /** @type {any[] | null} */
  const terms = answer;
  const asked = words.trim().toLocaleLowerCase();
  const shown = useMemo(() => (terms ?? []).filter((each) => each.term.toLocaleLowerCase().includes(asked)), [terms, asked]);
  if (wrong) return html`<p class="bad small" role="alert">${wrong.message}</p>`;
  if (!terms) return html`<p class="muted small" aria-busy="true">…</p>`;
  if (!terms.length) return html`<p class="muted small">${t("viewer.no_terms")}</p>`;
  return html`<input type="search" value=${words} placeholder=${t("library.find")} aria-label=${t("library.find")} onInput=${(/** @type {any} */ event) => setWords(event.target.value)} />
    <p class="muted small" role="status">${t("viewer.terms", { n: shown.length })}</p>
    <dl class="terms">${shown.map((each) => html`<div key=${each.term}><dt><button type="button" class="link" onClick=${() => onPage(each.page, each.text)}>${each.term}</button>
      <span class="muted small"> ${t("search.page", { page: each.page })}</span></dt><dd>${each.text}</dd></div>`)}</dl>`;
}
