// The language model and the one that sees: which, where, whether they answer, and what they took this month.
import { get, post } from "../../api.js";
import { number, t } from "../../i18n.js";
import { html, useEffect, useState } from "../../ui.js";
import { Fields } from "./Fields.js";

/** @param {{ values: import("./values.js").Values }} props */
export function Models({ values }) {
  const [usage, setUsage] = useState(/** @type {any} */ (null));
  const look = () => get("/usage").then(setUsage, () => null);
  useEffect(() => void look(), []);
  return html`
    ${["llm", "vlm"].map((kind) => html`<${Model} key=${kind} kind=${kind} values=${values} tried=${look} />`)}
    <section class="card stack"><h2>${t("settings.costs")}</h2>
      <${Usage} usage=${usage} />
      <${Fields} values=${values} names=${["model_prices", "monthly_spending", "monthly_tokens"]} /></section>`;
}

function Model({ kind, values, tried }) {
  const [state, setState] = useState(/** @type {any} */ (null));
  const named = values.views.get(`${kind}_model`)?.value;
  const test = async () => {
    setState({ busy: true });
    setState(await post(`/models/${kind}/test`).catch((error) => ({ error })));
    tried();
  };
  return html`<section class="card stack"><header class="row"><h2 class="grow">${t(`settings.${kind}`)}</h2>
      <span class=${`state-chip ${named ? "good" : ""}`}>${named || t("settings.no_model")}</span></header>
    <p class="muted small">${t(`settings.${kind}_more`)}</p>
    <${Fields} values=${values} names=${["model", "provider", "base_url", "api_key"].map((one) => `${kind}_${one}`)} />
    <div class="row"><button type="button" disabled=${state?.busy} onClick=${test}>${t(state?.busy ? "settings.testing" : "settings.test")}</button>
      <p class=${`small ${state?.error ? "bad" : "good"}`} role="status">${!state || state.busy ? "" : state.error ? `${state.error.message} ${state.error.advice ?? ""}`
        : state.ok ? state.detail : t("settings.not_configured")}</p></div>
  </section>`;
}

function Usage({ usage }) {
  if (!usage) return html`<p class="muted">…</p>`;
  /** @type {Map<string, { calls: number, tokens: number, cost: number, unpriced: number }>} */
  const models = new Map();
  for (const one of usage.days) {
    const sum = models.get(one.model) ?? { calls: 0, tokens: 0, cost: 0, unpriced: 0 };
    models.set(one.model, { calls: sum.calls + one.calls, tokens: sum.tokens + one.input_tokens + one.output_tokens, cost: sum.cost + one.cost, unpriced: sum.unpriced + one.unpriced });
  }
  if (!models.size) return html`<p class="muted">${t("settings.nothing_used")}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t("settings.costs")}><table class="plain"><thead><tr><th scope="col">${t("settings.model")}</th><th scope="col">${t("settings.calls")}</th><th scope="col">${t("settings.tokens_used")}</th><th scope="col">${t("settings.cost")}</th></tr></thead>
    <tbody>${[...models].map(([name, one]) => html`<tr key=${name}><td>${name}</td><td>${number(one.calls)}</td><td>${number(one.tokens)}</td><td>${one.unpriced ? t("settings.unpriced") : number(Number(one.cost.toFixed(4)))}</td></tr>`)}</tbody></table></div>
    ${usage.notes.map((/** @type {string} */ note) => html`<p class="warn small" key=${note}>${note}</p>`)}`;
}
