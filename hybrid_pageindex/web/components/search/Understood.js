import { t } from "../../i18n.js";
import { noteText, noteTexts } from "../../translation.js";
import { link } from "../../router.js";
import { html } from "../../ui.js";

const NEXT = { fast: "auto", auto: "deep", deep: "" };

/** What the engine made of a question, and what it says of its own answer. */
export function Understood({ found, one, onEffort }) {
  const { evidence, effort, notes, expert, route, unread, timings_ms: taken } = found;
  const noModel = effort.asked === "deep" && effort.used === "fast" && !found.reasoning;
  const codes = found.note_codes ?? [], spelled = codes.find((/** @type {any} */ one) => one?.code === "search.spelled");
  const others = noteTexts(notes, codes).filter((_, at) => !spelled || codes[at] !== spelled);
  return html`<div class="understood">
    ${spelled && html`<p class="remark">${t("search.spelled")} <b>${spelled.params.question}</b></p>`}
    ${noModel && html`<p class="remark">${t("search.no_model")} <a href=${link(["settings"])}>${t("conversation.set_model")}</a></p>`}
    ${evidence.level !== "strong" && found.results.length > 0 && html`<p class="remark warn">${t(`search.evidence_${evidence.level}`)} ${noteText(evidence.hint, evidence.hint_code)}
      ${NEXT[one.effort] && !noModel && html` <button type="button" class="quiet-button" onClick=${() => onEffort("deep")}>${t("search.harder")}</button>`}</p>`}
    ${unread.length > 0 && html`<p class="remark warn">${t("search.unread", { n: unread.length })} ${unread.map((/** @type {any} */ doc) => `${doc.doc_name} (${doc.which})`).join(", ")}</p>`}
    ${others.map((/** @type {string} */ note) => html`<p class="remark" key=${note}>${note}</p>`)}
    <details class="small muted"><summary>${t("search.took", { n: found.results.length, ms: Math.max(1, Math.round(taken.total ?? 0)) })}</summary>
      <dl class="facts">
        <div><dt>${t("search.evidence")}</dt><dd>${t(`search.level_${evidence.level}`)} (${evidence.score.toFixed(2)})</dd></div>
        <div><dt>${t("conversation.effort")}</dt><dd>${t(`conversation.effort_${effort.used}`)}: ${noteText(effort.why, effort.why_code)}</dd></div>
        <div><dt>${t("search.route")}</dt><dd>${noteText(route.why, route.why_code)}${route.filter.length ? ` (${route.filter.join(", ")})` : ""}</dd></div>
        ${expert.length > 0 && html`<div><dt>${t("search.expert")}</dt><dd>${expert.join(", ")}</dd></div>`}
        ${found.usage.calls > 0 && html`<div><dt>${t("search.calls")}</dt><dd>${found.usage.calls}</dd></div>`}
      </dl></details>
  </div>`;
}

/** What a model did while it looked: told as it happens, and kept beside the result. */
export function Steps({ steps, live }) {
  if (!steps.length) return null;
  return html`<details class="steps" open=${live}><summary>${t("conversation.steps", { n: steps.length })}</summary>
    <ol>${steps.map((/** @type {any} */ step, /** @type {number} */ number) => html`<li key=${number}><b>${t(`conversation.step_${step.kind}`)}</b> ${step.text}</li>`)}</ol></details>`;
}
