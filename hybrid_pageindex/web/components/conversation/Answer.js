import { at, post } from "../../api.js";
import { t } from "../../i18n.js";
import { noteText } from "../../translation.js";
import { link } from "../../router.js";
import { html, useState } from "../../ui.js";
import { IconButton } from "../viewer/Icons.js";
import { thumbnailOf } from "../viewer/addresses.js";
import { Chip, quoteOf, sourceName } from "./Chip.js";
import { Markdown } from "./markdown.js";
import { Branches } from "./Branches.js";

const documentOf = (citation, libraries) => at("libraries", libraries.get(citation.library) || citation.library, "documents", citation.doc_id);

/** A page that was found, with its best passage: what there is without a model, and what an answer rests on. */
function PageCard({ citation, libraries, chosen, onOpen }) {
  const { state, page, label } = citation, path = citation.section_path.join(" › ");
  const printed = label && label !== String(page) ? ` · ${label}` : "";
  return html`<li class=${`page-card${chosen ? " chosen" : ""}`}>
    <button type="button" onClick=${() => onOpen(citation)}>
      <span class="leaf">${state === "current" ? html`<img src=${thumbnailOf(documentOf(citation, libraries), page, citation.content_id)} alt="" loading="lazy" />` : null}</span>
      <span class="card-text">
        <span class="card-head"><span class=${`chip ${state}`}>${citation.number}</span><strong title=${citation.doc_name}>${sourceName(citation)}</strong>
          <span class="where">${t("conversation.page_of", { page })}${printed}</span>${state !== "current" ? html`<em class="state-${state}">${t(`conversation.${state}`)}</em>` : null}</span>
        ${path && path !== sourceName(citation) && html`<span class="path">${path}</span>`}
        <span class="quote">${quoteOf(citation)}</span>
      </span>
    </button></li>`;
}

function Steps({ answer }) {
  const steps = answer.steps || [];
  const asked = answer.searched && answer.searched_from !== "as asked";
  if (!steps.length && !asked) return null;
  return html`${asked && html`<p class="searched">${t("conversation.searched")}: <q>${answer.searched}</q></p>`}
    ${steps.length > 0 && html`<details class="steps" open=${answer.status === "running"}><summary>${t("conversation.steps", { n: steps.length })}</summary>
      <ol>${steps.map((step) => html`<li><b>${t(`conversation.step_${step.kind}`)}</b> ${step.text}</li>`)}</ol></details>`}`;
}

/** @param {any} answer */
function progress(answer) {
  if (answer.phase === "reading") return t("conversation.reading", { count: answer.citations?.length || 0 });
  return t(answer.phase === "writing" ? "conversation.writing" : "conversation.searching");
}

/** What is said about an answer besides its words: that there is no model, little evidence, claims without support. */
function Remarks({ answer, onAgain }) {
  const { result, status } = answer, without = result.outcome === "no_model";
  const again = html`<button type="button" class="quiet-button" onClick=${onAgain}>${t("conversation.again")}</button>`;
  return html`
    ${status === "cancelled" && html`<p class="remark">${t("conversation.cancelled")} ${again}</p>`}
    ${status === "interrupted" && html`<p class="remark warn">${t("conversation.interrupted")} ${again}</p>`}
    ${status === "failed" && html`<p class="remark bad" role="alert">${t("conversation.failed")}: ${answer.cause} ${again}</p>`}
    ${status === "complete" && without && html`<p class="remark">${t("conversation.no_model")} <a href=${link(["settings"])}>${t("conversation.set_model")}</a></p>`}
    ${status === "complete" && !without && result.outcome !== "answered" && html`<p class="remark">${noteText(result.why, result.why_code) || t("conversation.no_answer")}</p>`}
    ${status === "complete" && ["weak", "none"].includes(result.evidence) && html`<p class="remark warn">${t(result.evidence === "none" ? "conversation.none" : "conversation.weak")}</p>`}
    ${result.unsupported?.length > 0 && html`<details class="remark warn"><summary>${t("conversation.unsupported")} (${result.unsupported.length})</summary>
      <ul>${result.unsupported.map(([text, why], at) => html`<li>${text} <em>${noteText(why, result.unsupported_codes?.[at]?.[1])}</em></li>`)}</ul></details>`}`;
}

/** @param {any} props */
export function Answer({ answer, question, libraries, chosen, onOpen, onAgain, onBranch, onProblem, say }) {
  const [saved, setSaved] = useState(false), [rated, setRated] = useState(/** @type {boolean | null} */ (null));
  const running = answer.status === "running", written = answer.result.outcome === "answered" || (answer.text && answer.status !== "complete");
  const cited = answer.citations.filter((one) => one.cited), shown = written && !running ? cited : answer.citations;
  const chosenHere = (citation) => chosen?.message === answer.id && chosen.number === citation.number;
  const open = (citation) => onOpen(answer.id, citation);
  const cite = (number, key) => {
    const citation = answer.citations.find((one) => one.number === number);
    return citation ? html`<${Chip} key=${key} citation=${citation} chosen=${chosenHere(citation)} onOpen=${open} />` : "";
  };
  const plain = () => `${answer.text.replace(/\s*\[\[source:(\d+)\]\]/g, " [$1]")}\n\n${shown.map((one) => `[${one.number}] ${sourceName(one)}, ${t("conversation.page_of", { page: one.page })}`).join("\n")}`;
  const first = answer.citations.find((one) => one.cited) || answer.citations[0];
  const library = first && (libraries.get(first.library) || first.library);
  const guarded = (work) => work.catch(onProblem);
  const save = () => guarded(post(at("libraries", library, "notes"), { title: question.text.slice(0, 200), text: plain(), ...(first.state !== "gone" && { document: first.doc_id, page: first.page }) })
    .then(() => { setSaved(true); say(t("conversation.saved")); }));
  const rate = (right) => guarded(Promise.all(answer.citations.filter((one) => one.cited && one.state !== "gone").map((one) =>
    post(at("libraries", libraries.get(one.library) || one.library, "feedback"), { question: answer.searched || question.text, document: one.doc_id, page: one.page, right, answer: right && written ? plain().slice(0, 20000) : "" })))
    .then(() => { setRated(right); say(t("conversation.thanks")); }));
  const copy = () => navigator.clipboard.writeText(plain()).then(() => say(t("conversation.copied")), () => null);
  return html`<article class="answer" aria-label=${t("conversation.answer")} aria-busy=${String(running)} data-message=${answer.id} data-status=${answer.status}>
    <${Steps} answer=${answer} />
    ${!running && html`<${Remarks} answer=${answer} onAgain=${onAgain} />`}
    ${written || (running && answer.text) ? html`<${Markdown} text=${answer.text} cite=${cite} />` : null}
    ${running && html`<p class="progress" role="status"><span class="pulse" aria-hidden="true" />${progress(answer)}</p>`}
    ${!(running && answer.text) && shown.length > 0 && (written
      ? html`<ul class="cited">${shown.map((one) => html`<li key=${one.number}><button type="button" class=${`source ${one.state}`} aria-pressed=${String(chosenHere(one))} onClick=${() => open(one)}>
          <span class="chip">${one.number}</span><span class="source-name" title=${one.doc_name}>${sourceName(one)}</span><span class="where">${t("conversation.page_of", { page: one.page })}</span>
          ${one.state !== "current" ? html`<em class="state-${one.state}">${t(`conversation.${one.state}`)}</em>` : null}</button></li>`)}</ul>`
      : html`<ol class="page-cards">${shown.map((one) => html`<${PageCard} key=${one.number} citation=${one} libraries=${libraries} chosen=${chosenHere(one)} onOpen=${open} />`)}</ol>`)}
    ${!running && html`<footer class="acts">
      <${Branches} message=${answer} onBranch=${onBranch} />
      <${IconButton} icon="copy" label=${t("conversation.copy")} onClick=${copy} />
      ${first && html`<${IconButton} icon="note" label=${t("conversation.save")} pressed=${saved} onClick=${save} disabled=${saved} />
        <${IconButton} icon="good" label=${t("conversation.good")} pressed=${rated === true} onClick=${() => rate(true)} disabled=${rated !== null} />
        <${IconButton} icon="bad" label=${t("conversation.bad")} pressed=${rated === false} onClick=${() => rate(false)} disabled=${rated !== null} />`}
      <${IconButton} icon="again" label=${t("conversation.again")} onClick=${onAgain} />
    </footer>`}
  </article>`;
}
