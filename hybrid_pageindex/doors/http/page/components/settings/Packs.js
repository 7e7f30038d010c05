// Expert knowledge: which packs count, and what they make of a question.
import { get, query } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useEffect, useState } from "../../ui.js";

/** @param {{ values: import("./values.js").Values }} props */
export function Packs({ values }) {
  const [packs, setPacks] = useState(/** @type {string[]} */ ([]));
  const [said, setSaid] = useState("");
  useEffect(() => void get("/packs").then(setPacks, () => null), []);
  const one = /** @type {import("./values.js").Value} */ (values.views.get("expert"));
  const chosen = one.value === "auto" ? packs : one.value === "none" ? [] : String(one.value).split(",").map((name) => name.trim());
  const keep = (/** @type {string} */ expert) => values.save({ expert }).then(() => setSaid(t("settings.saved")), (error) => setSaid(`${error.message} ${error.advice}`));
  const turn = (/** @type {string} */ name) => keep((chosen.includes(name) ? chosen.filter((pack) => pack !== name) : [...chosen, name]).join(",") || "none");
  return html`<div class="card stack">
    <label class="row"><input type="checkbox" checked=${one.value === "auto"} disabled=${Boolean(one.fixed)} onChange=${() => keep(one.value === "auto" ? packs.join(",") : "auto")} />
      ${t("settings.packs_auto")}</label>
    <ul class="stack">${packs.map((name) => html`<li key=${name}><label class="row"><input type="checkbox" checked=${chosen.includes(name)} disabled=${one.value === "auto" || Boolean(one.fixed)} onChange=${() => turn(name)} />
      <span><b>${t(`settings.pack_${name}`)}</b> <span class="muted small">${t(`settings.pack_${name}_more`)}</span></span></label></li>`)}</ul>
    <p class="small good" role="status">${said}</p>
  </div>
  <${Preview} expert=${one.value} />`;
}

function Preview({ expert }) {
  const [question, setQuestion] = useState("");
  const [made, setMade] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (!question.trim()) return setMade(null);
    const stop = new AbortController();
    const timer = setTimeout(() => get("/packs/preview" + query({ question, expert }), stop.signal).then(setMade, () => null), 250);
    return () => (clearTimeout(timer), stop.abort());
  }, [question, expert]);
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
