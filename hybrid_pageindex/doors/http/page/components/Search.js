// One question, and the pages that answer it, by document.
import { post } from "../api.js";
import { t } from "../i18n.js";
import { go, link, pageLink } from "../router.js";
import { html, useState } from "../ui.js";

/** @param {{ library?: string }} props without a library all are searched */
export function Search({ library }) {
  const [question, setQuestion] = useState("");
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [state, setState] = useState("");
  const search = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setState(t("search.working"));
    try {
      setFound(await post("/search", { question, ...(library ? { libraries: [library] } : { all_libraries: true }) }));
      setState("");
    } catch (error) {
      setFound(null);
      setState(/** @type {Error} */ (error).message);
    }
  };
  const ask = async () => {
    try {
      const talk = await post("/conversations", library ? { libraries: [library] } : { all_libraries: true });
      await post(`/conversations/${talk.id}/messages`, { question });
      go(link(["conversation", talk.id]));
    } catch (error) {
      setState(/** @type {Error} */ (error).message);
    }
  };
  /** @type {Map<string, any[]>} */
  const documents = new Map();
  for (const one of found?.results ?? []) documents.set(one.doc_id, [...(documents.get(one.doc_id) ?? []), one]);
  return html`<section class="stack">
    <form class="row" role="search" onSubmit=${search}>
      <input class="grow" type="search" required aria-label=${t("search.question")} placeholder=${t("search.question")}
        value=${question} onInput=${(/** @type {any} */ event) => setQuestion(event.target.value)} />
      <button class="primary">${t("search.do")}</button>
      <button type="button" disabled=${!question.trim()} onClick=${ask}>${t("search.ask")}</button>
    </form>
    <p role="status" class="muted">${state}</p>
    ${found && found.evidence.level !== "strong" && html`<p class="warn">${t("search.weak")} ${found.evidence.hint}</p>`}
    ${[...documents].map(([id, pages]) => html`<article key=${id} class="card stack">
      <h2>${pages[0].doc_name}</h2>
      ${pages.map((one) => html`<div key=${one.page}>
        <a href=${pageLink(one.library || found.library, id, one.page, one.snippet.slice(0, 300))}>${t("search.page", { page: one.page })}</a>
        ${" "}<span class="muted small">${one.section.path.join(" › ")}</span>
        <p>${one.snippet}</p>
        <p class="muted small">${one.why}</p>
      </div>`)}
    </article>`)}
  </section>`;
}
