// Expert knowledge: which packs count, and what they make of a question.
import { useAnswer, wordsOf } from "../../answers.js";
import { get, query } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useRef, useState } from "../../ui.js";

/** @param {{ values: import("./values.js").Values }} props */
export function Packs({ values }) {
  const { answer } = useAnswer((signal) => get("/packs", signal), []);
  /** @type {string[]} */
  const packs = answer ?? [];
  const [said, setSaid] = useState("");
  const one = /** @type {import("./values.js").Value} */ (values.views.get("expert"));
  const [wanted, want] = useState(/** @type {string | null} */ (null)); // until the server has it
  const value = wanted ?? one.value;
  const chosen = value === "auto" ? packs : value === "none" ? [] : String(value).split(",").map((name) => name.trim());
  const queue = useRef(Promise.resolve()), last = useRef("");
  const keep = (/** @type {string} */ expert) => { // one after the other, so that the last one stays
    want(expert);
    last.current = expert;
    queue.current = queue.current.then(() => values.save({ expert })).then(() => setSaid(t("settings.saved")), (error) => setSaid(wordsOf(error)))
      .then(() => { if (last.current === expert) want(null); });
  };
  const turn = (/** @type {string} */ name) => keep((chosen.includes(name) ? chosen.filter((pack) => pack !== name) : [...chosen, name]).join(",") || "none");
  return html`<div class="card stack">
    <label class="row"><input type="checkbox" checked=${value === "auto"} disabled=${!answer || Boolean(one.fixed)} onChange=${() => keep(value === "auto" ? packs.join(",") : "auto")} />
      ${t("settings.packs_auto")}</label>
    <ul class="stack">${packs.map((name) => html`<li key=${name}><label class="row"><input type="checkbox" checked=${chosen.includes(name)} disabled=${value === "auto" || Boolean(one.fixed)} onChange=${() => turn(name)} />
      <span><b>${t(`settings.pack_${name}`)}</b> <span class="muted small">${t(`settings.pack_${name}_more`)}</span></span></label></li>`)}</ul>
    <p class="small good" role="status">${said}</p>
  </div>
  <${Preview} expert=${one.value} />`;
}

function Preview({ expert }) {
  const [question, setQuestion] = useState("");
  const { answer: made } = useAnswer((signal) => get("/packs/preview" + query({ question, expert }), signal), [question, expert],
    { wait: 250, skip: !question.trim() });
  const words = (/** @type {Record<string, number>} */ given) => Object.keys(given).slice(0, 12).map((one) => html`<span class="word" key=${one}>${one}</span>`);
  return html`<div class="card stack"><h2>${t("settings.preview")}</h2>
    <label>${t("settings.preview_question")}<input value=${question} maxlength="500" placeholder="What was the capex of 2025?" onInput=${(/** @type {any} */ event) => setQuestion(event.target.value)} /></label>
    <div role="status" class="stack">${made && html`
      <p><span class="muted small">${t("settings.preview_own")}</span> ${[...new Set([...made.terms, ...made.years.map(String)])].map((one) => html`<span class="word" key=${one}>${one}</span>`)}</p>
      ${made.added.length === 0 && html`<p class="muted">${t("settings.preview_none")}</p>`}
      ${made.added.map((/** @type {any} */ one, /** @type {number} */ at) => html`<div key=${at} class="added"><p class="muted small">${t("settings.preview_added", { pack: one.sources.join(", ") })} ${one.document_types.filter(Boolean).join(", ") || t("settings.preview_any")}</p>
        <p>${words(one.phrases)}</p>${one.headings.length > 0 && html`<p><span class="muted small">${t("settings.preview_headings")}</span> ${one.headings.join(", ")}</p>`}</div>`)}`}</div>
  </div>`;
}
