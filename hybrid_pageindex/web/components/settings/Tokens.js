// Tokens of programs and people: made, and taken back. A secret is shown once.
import { useAnswer } from "../../answers.js";
import { at, change, get, post } from "../../api.js";
import { useNews } from "../../feed.js";
import { ago, t } from "../../i18n.js";
import { html, useState } from "../../ui.js";

const ROLES = ["read", "write", "admin"];
const DAYS = [0, 7, 30, 365];

export function Tokens() {
  const { answer, wrong: unread, look } = useAnswer((signal) => get("/tokens", signal), []);
  const { answer: libraries, look: lookAround } = useAnswer((signal) => get("/libraries", signal), []);
  const tokens = answer?.filter((/** @type {any} */ one) => one.kind !== "session");
  const [made, setMade] = useState(/** @type {any} */ (null)), [wrong, setWrong] = useState("");
  const [name, setName] = useState(""), [role, setRole] = useState("read"), [library, setLibrary] = useState(""), [days, setDays] = useState("0");
  useNews(() => (look(), lookAround()));
  const doing = async (/** @type {() => Promise<any>} */ work) => {
    setWrong("");
    try {
      await work();
      await look();
    } catch (/** @type {any} */ error) {
      setWrong(`${error.message} ${error.advice ?? ""}`);
    }
  };
  const create = (/** @type {Event} */ event) => {
    event.preventDefault();
    doing(async () => {
      setMade(await post("/tokens", { name, role, days: Number(days), libraries: library ? [library] : [] }));
      setName("");
    });
  };
  const revoke = (/** @type {any} */ one) => confirm(t("settings.revoke_sure", { name: one.name })) && doing(() => change("DELETE", at("tokens", one.id)));
  return html`<section class="card stack">
    <form class="row form" onSubmit=${create}>
      <label class="grow">${t("settings.token_name")}<input value=${name} required maxlength="100" onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>
      <label>${t("settings.role")}<select value=${role} onChange=${(/** @type {any} */ event) => setRole(event.target.value)}>${ROLES.map((one) => html`<option key=${one} value=${one}>${t(`settings.role_${one}`)}</option>`)}</select></label>
      <label>${t("settings.library")}<select value=${library} onChange=${(/** @type {any} */ event) => setLibrary(event.target.value)}><option value="">${t("settings.every_library")}</option>
        ${(libraries ?? []).map((/** @type {any} */ one) => html`<option key=${one.id} value=${one.name}>${one.alias || one.name}</option>`)}</select></label>
      <label>${t("settings.valid")}<select value=${days} onChange=${(/** @type {any} */ event) => setDays(event.target.value)}>${DAYS.map((one) => html`<option key=${one} value=${String(one)}>${one ? t("settings.days", { n: one }) : t("settings.until_revoked")}</option>`)}</select></label>
      <button class="primary">${t("home.create")}</button>
    </form>
    ${(wrong || unread) && html`<p class="bad" role="alert">${wrong || unread.message}</p>`}
    ${made?.secret && html`<div class="secret stack" role="status"><p>${t("settings.secret_once", { name: made.token.name })}</p>
      <div class="row"><code>${made.secret}</code><button type="button" onClick=${() => navigator.clipboard?.writeText(made.secret)}>${t("viewer.copy")}</button>
      <button type="button" onClick=${() => setMade(null)}>${t("settings.secret_noted")}</button></div></div>`}
    ${tokens?.length === 0 && html`<p class="muted">${t("settings.no_tokens")}</p>`}
    <ul class="stack">${(tokens ?? []).map((/** @type {any} */ one) => html`<li key=${one.id} class="row"><span class="grow"><b>${one.name}</b>
        <span class="muted small"> ${Object.entries(one.grants).map(([where, what]) => `${where === "*" ? t("settings.every_library") : where}: ${t(`settings.role_${what}`)}`).join(", ")}
        · ${one.used_at ? t("home.used", { ago: ago(new Date(one.used_at).toISOString()) }) : t("home.unused")}${one.expires_at ? ` · ${t("settings.expires", { ago: ago(new Date(one.expires_at).toISOString()) })}` : ""}</span></span>
      <button type="button" class="danger" onClick=${() => revoke(one)}>${t("settings.revoke")}</button></li>`)}</ul>
  </section>`;
}
