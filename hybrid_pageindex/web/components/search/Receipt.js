import { t } from "../../i18n.js";
import { noteText, noteTexts } from "../../translation.js";
import { html } from "../../ui.js";

const PARTS = ["page", "document", "structure", "rerank", "reasoning"];
const score = (/** @type {number} */ value) => value.toLocaleString(undefined, { maximumFractionDigits: 3 });

/** Why a page was found, on demand: the parts of its score, what each word added, and where the engine looked. */
export function Receipt({ hit }) {
  const { receipt, section } = hit;
  const parts = [...PARTS.map((name) => [t(`search.part_${name}`), receipt[name]]), ...Object.entries(receipt.contributions ?? {})]
    .filter(([, value]) => typeof value === "number" && value !== 0);
  const most = Math.max(...parts.map(([, value]) => value), 0.001);
  const terms = Object.entries(receipt.terms).sort((one, other) => other[1] - one[1]);
  return html`<div class="receipt">
    <dl class="parts" aria-label=${t("search.parts")}>
      ${parts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><i style=${`inline-size:${(60 * Math.max(value, 0)) / most}%`} aria-hidden="true" />${score(value)}</dd></div>`)}
      <div class="sum"><dt>${t("search.score")}</dt><dd>${score(hit.score)}</dd></div>
    </dl>
    <dl class="facts">
      <div><dt>${t("search.node_score")}</dt><dd>${score(section.node_score)} <span class="muted">${section.title}</span></dd></div>
      ${terms.length > 0 && html`<div><dt>${t("search.terms")}</dt><dd class="row">${terms.map(([term, value]) => html`<span class="term" key=${term}>${term} <small>${score(value)}</small></span>`)}</dd></div>`}
      ${receipt.dense !== null && html`<div><dt>${t("search.meaning")}</dt><dd>${score(receipt.dense)}</dd></div>`}
      ${receipt.routing_reason && html`<div><dt>${t("search.document_because")}</dt><dd>${noteText(receipt.routing_reason, receipt.routing_reason_code)}</dd></div>`}
      <div><dt>${t("search.way")}</dt><dd>${noteText(receipt.verdict, receipt.verdict_code)}</dd></div>
      ${section.gaps.length > 0 && html`<div><dt>${t("search.gaps")}</dt><dd>${noteTexts(section.gaps, section.gap_codes).join("; ")}</dd></div>`}
      ${hit.also_in.length > 0 && html`<div><dt>${t("search.also_in")}</dt><dd>${hit.also_in.join("; ")}</dd></div>`}
      ${hit.near && html`<div><dt>${t("search.near")}</dt><dd>${hit.near}</dd></div>`}
    </dl>
  </div>`;
}
