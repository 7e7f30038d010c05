import { get } from "../../api.js";
import { t } from "../../i18n.js";
import { stateOf, useLibraries } from "../../libraries.js";
import { leadFromHere, link } from "../../router.js";
import { html, useEffect, useMemo, useRef, useState } from "../../ui.js";
import { Icon, IconButton } from "../viewer/Icons.js";
import { address } from "../viewer/addresses.js";
import { Viewer } from "../viewer/Viewer.js";
import { Beginning } from "../briefing/Briefing.js";
import { Answer } from "./Answer.js";
import { Composer } from "./Composer.js";
import { Question } from "./Question.js";
import { Sources } from "./Sources.js";
import { useTalk } from "./talking.js";

/** The names of the libraries by their ids, and how many files wait in those of a scope. */
function useNames() {
  const all = useLibraries();
  const libraries = useMemo(() => /** @type {Map<string, string>} */ (new Map(all.map((one) => [one.id, one.name]))), [all]);
  const waiting = (/** @type {string[]} */ scope) => all.reduce((sum, one) => sum + (!scope.length || scope.includes(one.id) ? one.waiting : 0), 0);
  return { libraries, waiting, state: stateOf(all) };
}

/** Where a citation leads: its page, or what was cited where that is not there any more. */
function Place({ place, onClose }) {
  if (!place) return html`<div class="no-page"><${Icon} name="whole" /><p>${t("conversation.no_page")}</p></div>`;
  const { citation, library, doc, page, boxes, visit } = place;
  const state = citation?.state ?? "current";
  if (state === "gone" || !library) {
    return html`<section class="cited-only"><header><h2>${citation.doc_title || citation.doc_name}, ${t("conversation.page_of", { page: citation.page })}</h2><${IconButton} icon="close" label=${t("viewer.close")} onClick=${onClose} /></header>
      <p class="remark warn">${t("conversation.gone_more")}</p><blockquote>${citation.quote}</blockquote></section>`;
  }
  const note = state === "changed" ? `${t("conversation.changed_more")} “${citation.quote}”` : "";
  return html`<${Viewer} library=${library} doc=${doc} page=${page} boxes=${boxes} visit=${visit} note=${note} embedded onClose=${onClose} />`;
}

function Heading({ talk, path, onRename, onRemove }) {
  const [title, setTitle] = useState(/** @type {string | null} */ (null));
  const done = (event) => {
    event.preventDefault();
    if (title?.trim() && title.trim() !== talk.title) onRename(title.trim());
    setTitle(null);
  };
  const remove = () => confirm(t("conversation.remove_sure")) && onRemove();
  const menu = useRef(/** @type {any} */ (null));
  useEffect(() => { // Escape, a click elsewhere, and a choice close it
    const stop = new AbortController();
    const close = () => void (menu.current && (menu.current.open = false));
    addEventListener("click", (event) => menu.current?.querySelector("summary").contains(event.target) || close(), { signal: stop.signal });
    addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.current?.open) return;
      close();
      menu.current.querySelector("summary").focus();
    }, { signal: stop.signal });
    return () => stop.abort();
  }, []);
  return html`<header class="talk-head">
    ${title === null ? html`<h1>${talk.title || t("conversation.new")}</h1><${IconButton} icon="edit" label=${t("conversation.rename")} onClick=${() => setTitle(talk.title)} />`
      : html`<form onSubmit=${done}><input autofocus value=${title} maxlength="500" aria-label=${t("conversation.title")} onInput=${(event) => setTitle(event.target.value)} onBlur=${done}
          onKeyDown=${(event) => event.key === "Escape" && setTitle(null)} /></form>`}
    <details class="menu" ref=${menu}><summary class="icon-button" title=${t("conversation.export")} aria-label=${t("conversation.export")}><${Icon} name="export" /></summary>
      <div class="menu-items">${EXPORTS.map((format) => html`<a href=${address(`${path}/export?format=${format}`)} download>${t(`conversation.${format}`)}</a>`)}
        <button type="button" class="danger" onClick=${remove}>${t("conversation.remove")}</button></div></details>
  </header>`;
}

const EXPORTS = ["markdown", "docx", "pdf", "json", "bibtex", "csl"];
const PANES = ["sources", "middle", "page"];

/** Sources left, what is said in the middle, the cited page right; one of the three at a time where there is little room.
 * @param {{ id: string }} props */
export function Conversation({ id }) {
  const { talk, problem, dismiss, path, ...acts } = useTalk(id), { libraries, waiting, state } = useNames();
  const [place, setPlace] = useState(/** @type {any} */ (null)), [pane, setPane] = useState("middle"), [toldNow, setTold] = useState("");
  const log = useRef(/** @type {any} */ (null)), below = useRef(true);
  const running = talk.messages.find((one) => one.status === "running");
  const end = talk.messages[talk.messages.length - 1];
  useEffect(() => {
    if (!log.current || !below.current) return;
    const asked = [...log.current.querySelectorAll(".question")].pop(), pages = end?.status === "complete" && end.result?.outcome === "no_model";
    // pages are read from the first one on, an answer goes on at its end
    log.current.scrollTop = pages && asked ? asked.offsetTop - log.current.offsetTop : log.current.scrollHeight;
  }, [talk.messages.length, end?.text, end?.phase]);
  const say = (text) => { setTold(text); setTimeout(() => setTold((before) => (before === text ? "" : before)), 2500); };
  const [failed, setFailed] = useState(/** @type {any} */ (null)), error = failed || problem;
  const openCitation = async (message, citation) => {
    setPane("page");
    const shown = { message, number: citation.number, citation, library: libraries.get(citation.library), doc: citation.doc_id, page: citation.page, visit: Date.now() };
    setPlace({ ...shown, boxes: [] });
    try {
      const found = await get(`${path}/messages/${message}/citations/${citation.number}`);
      setPlace((before) => (before?.visit === shown.visit ? { ...shown, citation: found.citation, library: found.library, boxes: found.boxes } : before));
    } catch (problem) {
      setFailed(problem);
    }
  };
  const remove = (/** @type {(href: string) => void} */ lead) => void acts.remove().then(() => lead(link([])), setFailed);
  const read = (library, doc) => { setPlace({ library, doc, page: 1, boxes: [], visit: Date.now() }); setPane("page"); };
  if (talk.state === "lost") return html`<div class="viewer"><div class="state" role="alert"><${Icon} name="warn" /><h1>${t("conversation.lost")}</h1><p>${t("conversation.lost_more")}</p><a href="#/">${t("conversation.home")}</a></div></div>`;
  const loading = talk.state === "loading", scopeName = talk.scope?.libraries.length === 1 ? libraries.get(talk.scope.libraries[0]) : libraries.size === 1 ? [...libraries.values()][0] : "";
  return html`<div class=${`talk show-${pane}${place ? " with-page" : ""}`}>
    <nav class="panes" aria-label=${t("conversation.panes")}>${PANES.map((one) => html`<button type="button" key=${one} aria-pressed=${String(pane === one)} onClick=${() => setPane(one)}>${t(`conversation.${one}`)}</button>`)}</nav>
    <div class="pane pane-sources">${!loading && libraries.size > 0 && html`<${Sources} scope=${talk.scope} libraries=${libraries} state=${state} onNarrow=${acts.narrow} onRead=${read} />`}</div>
    <section class="pane pane-middle">
      ${!loading && html`<${Heading} talk=${talk} path=${path} onRename=${acts.rename} onRemove=${() => remove(leadFromHere())} />`}
      <div class="log" ref=${log} tabindex="0" role="log" aria-live="off" aria-label=${t("conversation.middle")} onScroll=${(event) => (below.current = event.target.scrollHeight - event.target.scrollTop - event.target.clientHeight < 60)}>
        ${loading && html`<div class="lines" aria-busy="true"><i /><i /><i /></div>`}
        ${!loading && !talk.messages.length && html`<div class="empty"><h2>${t("conversation.empty")}</h2><p>${t("conversation.empty_more")}</p>
          ${scopeName && html`<${Beginning} library=${scopeName} doc=${talk.scope.documents.length === 1 ? talk.scope.documents[0] : ""} onAsk=${(begun) => acts.ask(begun.question)} />`}</div>`}
        ${talk.messages.map((one, at) => one.role === "user"
          ? html`<${Question} key=${one.id} question=${one} busy=${Boolean(running)} onEdit=${(text) => { below.current = true; return acts.edit(one.id, text); }} onBranch=${acts.branch} />`
          : html`<${Answer} key=${one.id} answer=${one} question=${talk.messages[at - 1]} libraries=${libraries} chosen=${place} onOpen=${openCitation} say=${say}
              onAgain=${() => acts.again(one.id)} onBranch=${acts.branch} onProblem=${setFailed} />`)}
      </div>
      ${error && html`<p class="remark bad problem" role="alert">${error.offline ? t("conversation.reconnecting") : `${error.message} ${error.advice || ""}`}
        <${IconButton} icon="close" label=${t("viewer.close")} onClick=${() => { setFailed(null); dismiss(); }} /></p>`}
      ${!loading && waiting(talk.scope.libraries) > 0 && html`<p class="remark problem">${t("search.behind", { n: waiting(talk.scope.libraries) })} <a href=${link(["jobs"])}>${t("viewer.to_jobs")}</a></p>`}
      ${!loading && html`<${Composer} id=${id} running=${Boolean(running)} onAsk=${(question, effort) => { below.current = true; return acts.ask(question, effort); }} onStop=${() => acts.cancel(running.id)} />`}
      <p class="toast" role="status">${toldNow}</p>
    </section>
    <div class="pane pane-page"><${Place} place=${place} onClose=${() => { setPlace(null); setPane("middle"); }} /></div>
  </div>`;
}
