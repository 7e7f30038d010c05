// The language model and the one that sees: which, where, whether they answer, and what they took this month.
import { useAnswer } from "../../answers.js";
import { get, post } from "../../api.js";
import { number, t } from "../../i18n.js";
import { link } from "../../router.js";
import { noteTexts } from "../../translation.js";
import { html, useState } from "../../ui.js";
import { Fields } from "./Fields.js";

/** @param {{ values: import("./values.js").Values }} props */
export function Models({ values }) {
  const { answer: usage, look } = useAnswer((signal) => get("/usage", signal), []);
  return html`
    <${SetUp} values=${values} done=${look} />
    ${["llm", "vlm"].map((kind) => html`<${Model} key=${kind} kind=${kind} values=${values} tried=${look} />`)}
    <section class="card stack"><h2>${t("settings.costs")}</h2>
      <${Usage} usage=${usage} />
      <${Fields} values=${values} names=${["model_prices", "monthly_spending", "monthly_tokens"]} /></section>`;
}

/** Providers by name: whose interface they have, where they are, and a model of theirs. */
const PROVIDERS = /** @type {Record<string, { provider: string, url: string, model: string }>} */ ({
  OpenAI: { provider: "openai", url: "", model: "gpt-5-mini" },
  Anthropic: { provider: "anthropic", url: "", model: "claude-sonnet-4-5" },
  Google: { provider: "openai", url: "https://generativelanguage.googleapis.com/v1beta/openai/", model: "gemini-2.5-flash" },
  Mistral: { provider: "openai", url: "https://api.mistral.ai/v1", model: "mistral-medium-latest" },
  OpenRouter: { provider: "openai", url: "https://openrouter.ai/api/v1", model: "openai/gpt-5-mini" },
});

/** The short way: a server on this computer is found, or a provider chosen; it is kept where it answers. */
function SetUp({ values, done }) {
  const [found, setFound] = useState(/** @type {any[] | null} */ (null));
  const [port, setPort] = useState("");
  const [state, setState] = useState({ busy: "", text: "", bad: false });
  const attempt = async (/** @type {string} */ busy, /** @type {() => Promise<string>} */ work) => {
    setState({ busy, text: "", bad: false });
    try {
      setState({ busy: "", text: await work(), bad: false });
    } catch (/** @type {any} */ error) {
      setState({ busy: "", text: [error.message, error.advice].filter(Boolean).join(" "), bad: true });
    }
  };
  const lookFor = (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt("looking", async () => {
      const servers = await post("/models/local", { ports: port ? [Number(port)] : [] });
      setFound(servers);
      return servers.length ? "" : t("setup.none");
    });
  };
  const use = (/** @type {string} */ provider, /** @type {string} */ model, /** @type {string} */ url, /** @type {string} */ key) => attempt("testing", async () => {
    await values.save({ llm_provider: provider, llm_model: model, llm_base_url: url, llm_api_key: key });
    const tried = await post("/models/llm/test");
    done();
    if (!tried.ok) throw tried.error ?? new Error(t("settings.not_configured"));
    return `${t("setup.works", { model })} ${tried.detail}`;
  });
  return html`<section class="card stack"><h2>${t("setup.title")}</h2><p class="muted small">${t("setup.more")}</p>
    <form class="row form" onSubmit=${lookFor}><button class="primary" disabled=${Boolean(state.busy)}>${t(state.busy === "looking" ? "setup.looking" : "setup.look")}</button>
      <label>${t("setup.port")}<input type="number" min="1" max="65535" value=${port} onInput=${(/** @type {any} */ event) => setPort(event.target.value)} /></label></form>
    ${found && found.length > 0 && html`<ul class="stack">${found.map((server) => html`<${Local} key=${server.base_url} server=${server} busy=${Boolean(state.busy)} use=${use} />`)}</ul>`}
    <p class=${`small ${state.bad ? "bad" : "good"}`} role=${state.bad ? "alert" : "status"}>${state.busy === "testing" ? t("settings.testing") : state.text}
      ${!state.bad && state.text && !state.busy && found?.length !== 0 ? html` <a href=${link([""])}>${t("setup.ask")}</a>` : null}</p>
    <details class="fold"><summary>${t("setup.provider")}</summary><${Provider} busy=${Boolean(state.busy)} use=${use} /></details>
  </section>`;
}

function Local({ server, busy, use }) {
  const [model, setModel] = useState(server.models[0] ?? "");
  const name = server.name || t("setup.server");
  return html`<li class="row"><span class="grow"><b>${name}</b> <span class="muted small">${server.base_url}</span></span>
    ${server.models.length ? html`<select aria-label=${t("setup.model_of", { name })} value=${model} onChange=${(/** @type {any} */ event) => setModel(event.target.value)}>
        ${server.models.map((/** @type {string} */ each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>
      <button type="button" class="primary" disabled=${busy} onClick=${() => use("openai", model, server.base_url, "")}>${t("setup.use")}</button>`
      : html`<span class="muted small">${t("setup.no_models")}</span>`}</li>`;
}

function Provider({ busy, use }) {
  const [name, setName] = useState("OpenAI"), [key, setKey] = useState(""), [model, setModel] = useState(PROVIDERS.OpenAI.model);
  const choose = (/** @type {any} */ event) => {
    setName(event.target.value);
    setModel(PROVIDERS[event.target.value].model);
  };
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    use(PROVIDERS[name].provider, model.trim(), PROVIDERS[name].url, key.trim());
  };
  return html`<form class="row form" onSubmit=${save}>
    <label>${t("setup.which")}<select value=${name} onChange=${choose}>${Object.keys(PROVIDERS).map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>
    <label class="grow">${t("setup.key")}<input type="password" required autocomplete="off" value=${key} onInput=${(/** @type {any} */ event) => setKey(event.target.value)} /></label>
    <label class="grow">${t("settings.model")}<input required value=${model} onInput=${(/** @type {any} */ event) => setModel(event.target.value)} /></label>
    <button class="primary" disabled=${busy}>${t("setup.save")}</button></form>`;
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
    ${noteTexts(usage.notes, usage.note_codes).map((/** @type {string} */ note) => html`<p class="warn small" key=${note}>${note}</p>`)}`;
}
