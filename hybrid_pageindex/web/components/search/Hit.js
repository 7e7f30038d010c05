import { post } from "../../api.js";
import { language, t } from "../../i18n.js";
import { noteText } from "../../translation.js";
import { pageLink } from "../../router.js";
import { html, useState } from "../../ui.js";
import { IconButton } from "../viewer/Icons.js";
import { documentPath, thumbnailOf } from "../viewer/addresses.js";
import { at } from "../../api.js";
import { pieces, places } from "./marking.js";
import { Receipt } from "./Receipt.js";

const LEADERS = /\s*(?:\.\s?){5,}/g; // dots that lead the eye to a page number

/** @param {{ text: string, mark: string, terms: Record<string, number> }} props */
function Passage({ text, mark, terms }) {
  return html`<p class="passage">${pieces(text, mark, terms).map((piece) => {
    const words = piece.words.map(({ text: said, marked }) => (marked ? html`<b>${said}</b>` : said.replace(LEADERS, " … ")));
    return piece.best ? html`<mark>${words}</mark>` : html`<span>${words}</span>`;
  })}</p>`;
}

/** Why a page was found, in a sentence: the server's own in its language, made of the same parts in others. */
function why(hit) {
  if (language === "en") return hit.why;
  const { section, receipt } = hit, { title } = section, said = hit.mark || hit.snippet;
  const words = [...new Set(places(said, receipt.terms).map((one) => said.slice(one.from, one.to)))].slice(0, 3).join(t("search.and"));
  const fits = receipt.routing_reason ? t("search.why_document", { reason: noteText(receipt.routing_reason, receipt.routing_reason_code) }) : "";
  return t(words ? "search.why_words" : "search.why_meaning", { words, title }) + (receipt.reasoning === null ? "" : t("search.why_model")) + fits;
}

/** One page that was found: its picture, the passage, why; and what can be done with it. */
export function Hit({ hit, library, question, say }) {
  const [saved, setSaved] = useState(false), [rated, setRated] = useState(/** @type {boolean | null} */ (null));
  const href = pageLink(library, hit.doc_id, hit.page, (hit.mark || hit.snippet).slice(0, 300)), base = documentPath(library, hit.doc_id);
  const printed = hit.label && hit.label !== String(hit.page) ? t("search.printed", { label: noteText(hit.label, hit.label_code) }) : "";
  const fail = (/** @type {any} */ error) => say(`${error.message} ${error.advice ?? ""}`);
  const save = () => post(at("libraries", library, "notes"), { title: question.slice(0, 200), text: `${hit.snippet}\n\n${hit.doc_name}, ${t("conversation.page_of", { page: hit.page })}`, document: hit.doc_id, page: hit.page })
    .then(() => { setSaved(true); say(t("conversation.saved")); }, fail);
  const rate = (/** @type {boolean} */ right) => post(at("libraries", library, "feedback"), { question, document: hit.doc_id, page: hit.page, right })
    .then(() => { setRated(right); say(t("conversation.thanks")); }, fail);
  return html`<li class="hit">
    <a class="hit-picture" href=${href} tabindex="-1" aria-hidden="true"><img src=${thumbnailOf(base, hit.page, "")} alt="" width="68" height="88" loading="lazy" /></a>
    <div class="hit-text">
      <p class="hit-head"><a href=${href}>${t("search.page", { page: hit.page })}</a>${printed && html`<span class="muted small">${printed}</span>`}${hit.place && html`<span class="muted small">${hit.place}</span>`}${hit.hidden_text?.length > 0 && html`<span class="hidden-sign small warn">${t("viewer.hidden")}</span>`}${hit.contents && html`<span class="muted small">${t("search.contents")}</span>`}
        <span class="path">${hit.section.path.join(" › ")}</span></p>
      <${Passage} text=${hit.snippet} mark=${hit.mark} terms=${hit.receipt.terms} />
      <details class="why"><summary>${why(hit)}</summary><${Receipt} hit=${hit} /></details>
      ${hit.section.hints.length > 0 && html`<p class="hints small">${t("search.hints")} ${hit.section.hints.map((/** @type {any} */ one) => html`<a key=${one.node_id} href=${pageLink(library, hit.doc_id, one.start_page)}>${one.title}</a>`)}</p>`}
      ${hit.see?.length > 0 && html`<p class="hints small">${t("search.see")} ${hit.see.map((/** @type {any} */ one) => html`<a key=${one.written} href=${pageLink(library, hit.doc_id, one.page)} title=${noteText(one.why, one.why_code)}>${one.written}</a>`)}</p>`}
    </div>
    <div class="hit-acts">
      <${IconButton} icon="note" label=${t("conversation.save")} pressed=${saved} disabled=${saved} onClick=${save} />
      <${IconButton} icon="good" label=${t("search.good")} pressed=${rated === true} disabled=${rated !== null} onClick=${() => rate(true)} />
      <${IconButton} icon="bad" label=${t("search.bad")} pressed=${rated === false} disabled=${rated !== null} onClick=${() => rate(false)} />
    </div>
  </li>`;
}
