// What a document has been.
import { useAnswer } from "../../answers.js";
import { get } from "../../api.js";
import { t } from "../../i18n.js";
import { html } from "../../ui.js";

/** @param {{ path: string, content: string }} props */
export function Versions({ path, content }) {
  const { answer, wrong } = useAnswer((signal) => get(`${path}/versions`, signal), [path, content], { fresh: true });
  /** @type {any[]} */
  const versions = answer ?? [];
  if (wrong) return html`<p class="bad small" role="alert">${wrong.message}</p>`;
  return html`<ol class="versions small">${versions.map((one, at, all) => html`<li key=${one.number}>
    <strong>${t("details.version", { number: all.length - at })}</strong> ${one.current ? t("details.version_now") : one.made ? "" : t("details.version_gone")}
    ${one.made && html`<span class="muted"> ${madeOf(one.made)}</span>`}</li>`)}</ol>`;
}

/** @param {Record<string, string>} made */
const madeOf = (made) => [
  `${made.format} · SHA-256 ${made.sha256.slice(0, 12)}…`, made.ocr && t("details.made_ocr"), made.llm && t("details.made_llm"),
  made.vlm && t("details.made_vlm"), made.outline && t("details.made_outline"),
].filter(Boolean).join(" · ");
