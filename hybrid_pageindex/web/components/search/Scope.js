import { useAnswer } from "../../answers.js";
import { at, get, query } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../ui.js";

const MOST = 100; // documents that are listed at once

/**
 * Where is searched: all libraries, one, or documents of it by their check boxes.
 * @param {{ libraries: any[], library: string, documents: string[], onChoose: (library: string, documents: string[]) => void }} props
 */
export function Scope({ libraries, library, documents, onChoose }) {
  const [open, setOpen] = useState(false);
  return html`<div class="scope">
    <select aria-label=${t("search.where")} value=${library} onChange=${(/** @type {any} */ event) => onChoose(event.target.value, [])}>
      <option value="">${t("search.everywhere")}</option>
      ${libraries.map((one) => html`<option key=${one.id} value=${one.name}>${one.alias || one.name}</option>`)}
      ${library && !libraries.some((one) => one.name === library) && html`<option value=${library}>${library}</option>`}
    </select>
    ${library && html`<details class="choose" open=${open} onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}
        onKeyDown=${(/** @type {any} */ event) => { if (event.key === "Escape" && open) { setOpen(false); event.currentTarget.querySelector("summary").focus(); } }}>
      <summary>${documents.length ? t("search.documents_chosen", { n: documents.length }) : t("search.documents_all")}</summary>
      ${open && html`<${Documents} library=${library} chosen=${documents} onChoose=${(/** @type {string[]} */ those) => onChoose(library, those)} />`}
    </details>`}
  </div>`;
}

/** @param {{ library: string, chosen: string[], onChoose: (documents: string[]) => void }} props */
function Documents({ library, chosen, onChoose }) {
  const [words, setWords] = useState(""), wished = { find: words, limit: MOST, state: "published" };
  const { answer: found } = useAnswer((signal) => get(at("libraries", library, "documents") + query(wished), signal), [library, words], { wait: words ? 200 : 0 });
  const toggle = (/** @type {string} */ id, /** @type {boolean} */ on) => onChoose(on ? [...chosen, id] : chosen.filter((one) => one !== id));
  return html`<div class="choose-list" role="group" aria-label=${t("search.documents")}>
    <div class="row"><input class="grow" type="search" value=${words} placeholder=${t("conversation.filter")} aria-label=${t("conversation.filter")} onInput=${(/** @type {any} */ event) => setWords(event.target.value)} />
      <button type="button" class="quiet small" disabled=${!chosen.length} onClick=${() => onChoose([])}>${t("search.documents_clear")}</button></div>
    <ul>${(found?.documents ?? []).map((/** @type {any} */ one) => html`<li key=${one.doc_id}><label class="row"><input type="checkbox" checked=${chosen.includes(one.doc_id)}
      onChange=${(/** @type {any} */ event) => toggle(one.doc_id, event.target.checked)} /><span class="grow">${one.title || one.name}</span></label></li>`)}</ul>
    ${found && !found.documents.length && html`<p class="muted small">${t("library.empty")}</p>`}
    ${found?.total > MOST && html`<p class="muted small">${t("conversation.more", { n: found.total - MOST })}</p>`}
  </div>`;
}
