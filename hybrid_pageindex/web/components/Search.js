// The box as it stands on other views: what is asked there is shown in the search view, or begins a conversation.
import { t } from "../i18n.js";
import { remember, remembered } from "../storage.js";
import { html, useState } from "../ui.js";
import { Box } from "./search/Box.js";
import { converse, searchFor } from "./search/asking.js";

/** @param {{ library?: string, documents?: string[] }} props without a library all are searched; of it all documents, or those */
export function Search({ library = "", documents = [] }) {
  const [q, setQuestion] = useState(""), [effort, setEffort] = useState(remembered("effort") || "auto"), [wrong, setWrong] = useState("");
  const one = { q: q.trim(), library, documents, effort };
  const choose = (/** @type {string} */ name) => {
    setEffort(name);
    remember("effort", name);
  };
  return html`<section class="stack">
    <${Box} text=${q} effort=${effort} onText=${setQuestion} onEffort=${choose} onSearch=${() => searchFor(one)}
      onAsk=${() => converse(one).catch((error) => setWrong(`${error.message} ${error.advice ?? ""}`))}>
      <span class="muted small">${documents.length ? t("conversation.chosen", { n: documents.length }) : library ? t("search.in_this") : t("search.in_all")}</span><//>
    ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
  </section>`;
}
