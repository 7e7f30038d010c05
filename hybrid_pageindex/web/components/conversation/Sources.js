import { useAnswer } from "../../answers.js";
import { at, get, query } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useEffect, useRef, useState } from "../../ui.js";

const MOST = 200; // documents that are listed at once

/** What the conversation is about: documents as check boxes; those that are checked are searched from the next question on. */
export function Sources({ scope, libraries, state, onNarrow, onRead }) {
  const names = scope.libraries.length ? scope.libraries.map((id) => libraries.get(id)).filter(Boolean) : [...libraries.values()];
  const [words, setWords] = useState(""), [none, setNone] = useState(false);
  const documentsOf = (/** @type {string} */ name, /** @type {AbortSignal} */ signal) =>
    get(at("libraries", name, "documents") + query({ find: words, limit: MOST }), signal).then((list) => ({ name, ...list }), () => ({ name, documents: [], total: 0 }));
  const { answer: found } = useAnswer((signal) => Promise.all(names.map((name) => documentsOf(name, signal))), [names.join("\n"), words, state], { wait: words ? 200 : 0 });
  const [picked, setPicked] = useState(/** @type {string[]} */ (scope.documents)); // `none`: all are searched until one is checked
  const sending = useRef(Promise.resolve()), unsent = useRef(0); // one after the other: the last one stays
  const kept = useRef(scope.documents); // what the server has
  kept.current = scope.documents;
  useEffect(() => void (unsent.current || setPicked(scope.documents)), [scope.documents.join()]);
  const chosen = new Set(picked), everything = chosen.size === 0 && !none;
  const all = (found || []).flatMap((one) => one.documents.filter((document) => document.published).map((document) => document.doc_id));
  const total = (found || []).reduce((sum, one) => sum + one.total, 0), listed = (found || []).reduce((sum, one) => sum + one.documents.length, 0);
  const partly = total > listed, searched = total - listed + all.length; // those that could not be read are listed, and not searched
  const set = (documents, bare = !documents.length) => {
    setNone(bare);
    setPicked(documents);
    unsent.current += 1;
    sending.current = sending.current.then(() => onNarrow(documents)).then((done) => {
      unsent.current -= 1;
      if (done || unsent.current) return;
      setNone(false);
      setPicked(kept.current);
    });
  };
  const toggle = (id, on) => {
    const before = everything ? all : [...chosen];
    const after = on ? [...before, id] : before.filter((one) => one !== id);
    if (after.length === all.length && !partly && !words) set([], false);
    else set(after);
  };
  return html`<section class="sources" aria-label=${t("conversation.sources")}>
    <h2>${t("conversation.sources")}</h2>
    <input type="search" value=${words} placeholder=${t("conversation.filter")} aria-label=${t("conversation.filter")} onInput=${(event) => setWords(event.target.value)} />
    <label class="row all"><input type="checkbox" checked=${everything} onChange=${(event) => set([], !event.target.checked)} />${t("conversation.all")}</label>
    <p class="how-many" role="status">${none && !chosen.size ? t("conversation.one_least") : !found || [...picked].sort().join() !== [...scope.documents].sort().join() ? "" : everything ? (words ? "" : t("conversation.all_searched", { n: searched })) : t("conversation.chosen", { n: chosen.size })}</p>
    <div class="source-list">
      ${!found && html`<div class="lines" aria-hidden="true"><i /><i /><i /></div>`}
      ${found && !total && !words && html`<p class="muted small">${t("conversation.no_sources")}</p>`}
      ${(found || []).map(({ name, documents }) => html`<div key=${name} role="group" aria-label=${name}>
        ${names.length > 1 && documents.length > 0 && html`<h3>${name}</h3>`}
        ${documents.map((document) => html`<div class="source-line" key=${document.doc_id}>
          <input type="checkbox" id=${`source-${document.doc_id}`} checked=${document.published && (everything || chosen.has(document.doc_id))} disabled=${!document.published || (everything && partly)}
            aria-label=${document.title || document.name} onChange=${(event) => toggle(document.doc_id, event.target.checked)} />
          <button type="button" class="source-open" onClick=${() => onRead(name, document.doc_id)}><span>${document.title || document.name}</span>
            <small>${document.published ? t("conversation.pages", { n: document.pages }) : t("library.state_failed")}</small></button>
          ${document.published && !(chosen.size === 1 && chosen.has(document.doc_id)) && html`<button type="button" class="quiet only-this" aria-label=${t("conversation.only_of", { name: document.title || document.name })} onClick=${() => set([document.doc_id])}>${t("conversation.only")}</button>`}
        </div>`)}
      </div>`)}
      ${partly && html`<p class="muted small">${t("conversation.more", { n: total - listed })}</p>`}
    </div>
  </section>`;
}
