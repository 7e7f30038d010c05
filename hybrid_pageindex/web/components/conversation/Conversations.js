// All conversations, the last used first: found by words, called otherwise, deleted, begun.
import { useAnswer } from "../../answers.js";
import { at, change, get, post, query } from "../../api.js";
import { useNews } from "../../feed.js";
import { ago, t } from "../../i18n.js";
import { leadFromHere, link } from "../../router.js";
import { html, useMemo, useState } from "../../ui.js";
import { IconButton } from "../viewer/Icons.js";

const MOST = 50;

/** @param {number} ms since 1970 */
const when = (ms) => ago(new Date(ms).toISOString());

/** @param {{ talk: any, libraries: Map<string, any>, onChange: () => void, onProblem: (error: any) => void }} props */
function Line({ talk, libraries, onChange, onProblem }) {
  const [title, setTitle] = useState(/** @type {string | null} */ (null));
  const path = at("conversations", talk.id), name = talk.title || t("conversation.new");
  const about = talk.scope.libraries.map((/** @type {string} */ id) => libraries.get(id)?.alias || libraries.get(id)?.name || id).join(", ") || t("search.everywhere");
  const narrowed = talk.scope.documents.length ? ` · ${t("search.documents_chosen", { n: talk.scope.documents.length })}` : "";
  const rename = (/** @type {Event} */ event) => {
    event.preventDefault();
    const wished = (title ?? "").trim();
    setTitle(null);
    if (wished && wished !== talk.title) change("PATCH", path, { title: wished }).then(onChange, onProblem);
  };
  const remove = () => confirm(t("conversation.remove_named", { name })) && change("DELETE", path).then(onChange, onProblem);
  return html`<li class="kept-line">
    ${title === null ? html`<a class="grow" href=${link(["conversation", talk.id])}><strong>${name}</strong><span class="muted small">${about}${narrowed} · ${when(talk.updated_at)}</span></a>`
      : html`<form class="grow" onSubmit=${rename}><input autofocus value=${title} maxlength="500" aria-label=${t("conversation.title")} onInput=${(/** @type {any} */ event) => setTitle(event.target.value)}
          onBlur=${rename} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && setTitle(null)} /></form>`}
    <${IconButton} icon="edit" label=${t("conversation.rename_named", { name })} onClick=${() => setTitle(talk.title)} />
    <${IconButton} icon="remove" label=${t("conversation.remove_do", { name })} onClick=${remove} />
  </li>`;
}

export function Conversations() {
  const [words, setWords] = useState(""), [failed, setFailed] = useState(/** @type {any} */ (null));
  const all = useAnswer((signal) => get("/libraries", signal), []);
  const list = useAnswer((signal) => get("/conversations" + query({ find: words.trim(), limit: MOST }), signal), [words], { wait: words ? 200 : 0 });
  const libraries = useMemo(() => new Map((all.answer ?? []).map((/** @type {any} */ one) => [one.id, one])), [all.answer]);
  const found = list.answer, problem = failed || list.wrong || all.wrong;
  const look = () => (setFailed(null), all.look(), list.look());
  useNews(look);
  const more = () => list.extend((signal) => get("/conversations" + query({ find: words.trim(), limit: MOST, before: found.next }), signal),
    (now, next) => ({ ...next, conversations: [...now.conversations, ...next.conversations] }));
  const begin = () => {
    const lead = leadFromHere();
    post("/conversations", { all_libraries: true }).then((talk) => lead(link(["conversation", talk.id])), setFailed);
  };
  return html`<div class="view kept">
    <header class="row"><h1 class="grow">${t("frame.conversations")}</h1><button type="button" class="primary" disabled=${!libraries.size} onClick=${begin}>${t("conversation.new")}</button></header>
    <input type="search" value=${words} placeholder=${t("conversation.find")} aria-label=${t("conversation.find")} onInput=${(/** @type {any} */ event) => setWords(event.target.value)} />
    ${problem && html`<p class="remark bad" role="alert">${problem.message} ${problem.advice} <button type="button" class="quiet-button" onClick=${look}>${t("viewer.again")}</button></p>`}
    ${!found && !problem && html`<div class="lines" aria-busy="true"><i /><i /><i /></div>`}
    ${found?.conversations.length === 0 && html`<div class="nothing"><h2>${t(words ? "conversation.none_found" : "conversation.none_yet")}</h2><p class="muted">${t("conversation.none_more")}</p></div>`}
    <ul>${(found?.conversations ?? []).map((/** @type {any} */ one) => html`<${Line} key=${one.id} talk=${one} libraries=${libraries} onChange=${look} onProblem=${setFailed} />`)}</ul>
    ${found?.next && html`<button type="button" onClick=${more}>${t("conversation.earlier")}</button>`}
  </div>`;
}
