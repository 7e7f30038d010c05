// What the engine goes by: models, searching, expert knowledge, vectors, reading, folders, tokens.
import { t } from "../../i18n.js";
import { useRights } from "../../rights.js";
import { link } from "../../router.js";
import { html } from "../../ui.js";
import { Bin } from "./Bin.js";
import { Folders } from "./Folders.js";
import { Fields } from "./Fields.js";
import { Models } from "./Models.js";
import { Packs } from "./Packs.js";
import { Reading } from "./Reading.js";
import { Tokens } from "./Tokens.js";
import { useSettings } from "./values.js";
import { Vectors } from "./Vectors.js";

const SEARCHING = ["effort", "top_k", "route", "strategy", "fusion", "mmr", "answer_evidence", "answer_tokens"];
const PARTS = {
  models: Models, searching: Searching, packs: Packs, vectors: Vectors, reading: Reading, folders: Folders, tokens: Tokens, bin: Bin,
};

/** @param {{ part?: string }} props */
export function Settings({ part = "models" }) {
  const may = useRights();
  const values = useSettings();
  const shown = part in PARTS ? /** @type {keyof typeof PARTS} */ (part) : "models";
  const { wrong } = values;
  return html`<div class="view settings">
    <nav class="parts" aria-label=${t("frame.settings")}>
      ${Object.keys(PARTS).map((one) => html`<a key=${one} href=${link(["settings", one])} aria-current=${one === shown ? "page" : null}>${t(`settings.${one}`)}</a>`)}
    </nav>
    <section class="part stack">
      <h1>${t(`settings.${shown}`)}</h1>
      <p class="muted">${t(`settings.${shown}_more`)}</p>
      ${wrong && html`<p class="bad" role="alert">${wrong.status === 403 ? t("settings.not_allowed") : `${wrong.message} ${wrong.advice ?? ""}`}</p>`}
      ${values.views.size > 0 ? html`<${PARTS[shown]} values=${values} may=${may} />`
        : !wrong && html`<div class="stack" aria-busy="true">${[0, 1, 2].map((one) => html`<div key=${one} class="card waiting-card" />`)}</div>`}
    </section>
  </div>`;
}

function Searching({ values }) {
  return html`<div class="card"><${Fields} values=${values} names=${SEARCHING} /></div>`;
}
