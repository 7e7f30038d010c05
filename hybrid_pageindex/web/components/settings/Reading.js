// How documents are read, and whether everything that it takes is there.
import { useAnswer } from "../../answers.js";
import { get } from "../../api.js";
import { t } from "../../i18n.js";
import { html } from "../../ui.js";
import { Fields } from "./Fields.js";

/** @param {{ values: import("./values.js").Values }} props */
export function Reading({ values }) {
  const { answer: health, wrong } = useAnswer((signal) => get("/health/checks", signal), []);
  return html`<div class="card"><${Fields} values=${values} names=${["ocr", "ocr_languages", "vision", "enrich", "fetch_web"]} /></div>
    <section class="card stack"><h2>${t("settings.checks")}</h2>
      ${wrong && html`<p class="bad" role="alert">${wrong.message}</p>`}
      ${!health && !wrong && html`<p class="muted" aria-busy="true">${t("settings.checking")}</p>`}
      <dl class="checks">${(health?.checks ?? []).map((/** @type {any} */ one) => html`<div key=${one.name}><dt><span class=${one.ok ? "good" : "bad"}>${one.ok ? "✓" : "✗"}</span> ${one.name}</dt><dd>${one.detail}</dd></div>`)}</dl></section>`;
}
