// The embedder, and which libraries have its vectors.
import { useAttempt } from "../../attempt.js";
import { useAnswer } from "../../answers.js";
import { at, change, get, post } from "../../api.js";
import { t } from "../../i18n.js";
import { html } from "../../ui.js";
import { Fields } from "./Fields.js";

/** @param {{ values: import("./values.js").Values }} props */
export function Vectors({ values }) {
  const { answer: libraries, look } = useAnswer((signal) => get("/libraries", signal), []);
  const [attempt, said] = useAttempt(look);
  const model = values.views.get("embedding_model")?.value;
  return html`<div class="card"><${Fields} values=${values} names=${["embedding_model", "embedding_base_url", "embedding_api_key"]} /></div>
    <section class="card stack"><h2>${t("frame.home")}</h2>
      <ul class="stack">${(libraries ?? []).map((/** @type {any} */ one) => html`<li key=${one.id} class="row"><span class="grow">${one.alias || one.name}
          <span class="muted small"> ${one.embedder ? t("settings.embedded", { embedder: one.embedder, done: one.embedded, all: one.documents }) : t("settings.words_only")}</span></span>
        <button type="button" disabled=${!model && !one.embedder} onClick=${() => attempt(() => post(at("libraries", one.name, "embed"), {}), t("settings.embed_asked"))}>${t("settings.embed")}</button>
        ${one.embedder && html`<button type="button" onClick=${() => attempt(() => change("DELETE", at("libraries", one.name, "embed")), t("settings.saved"))}>${t("settings.drop_vectors")}</button>`}</li>`)}</ul>
      <p class=${`small ${said.bad ? "bad" : "good"}`} role="status">${said.text}</p></section>`;
}
