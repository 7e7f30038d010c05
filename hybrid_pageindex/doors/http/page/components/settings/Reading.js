// How documents are read, and whether everything that it takes is there.
import { get } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useEffect, useState } from "../../ui.js";
import { Fields } from "./Fields.js";

/** @param {{ values: import("./values.js").Values }} props */
export function Reading({ values }) {
  const [health, setHealth] = useState(/** @type {any} */ (null));
  const [wrong, setWrong] = useState("");
  useEffect(() => void get("/health/checks").then(setHealth, (error) => setWrong(error.message)), []);
  return html`<div class="card"><${Fields} values=${values} names=${["ocr", "ocr_languages", "vision", "enrich"]} /></div>
    <section class="card stack"><h2>${t("settings.checks")}</h2>
      ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
      ${!health && !wrong && html`<p class="muted" aria-busy="true">${t("settings.checking")}</p>`}
      <dl class="checks">${(health?.checks ?? []).map((/** @type {any} */ one) => html`<div key=${one.name}><dt><span class=${one.ok ? "good" : "bad"}>${one.ok ? "✓" : "✗"}</span> ${one.name}</dt><dd>${one.detail}</dd></div>`)}</dl></section>`;
}
