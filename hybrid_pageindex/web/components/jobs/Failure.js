// Why a file failed, in the page's own words, and what can be done about it here.
import { t } from "../../i18n.js";
import { html, useState } from "../../ui.js";

const KNOWN = ["empty", "broken", "unsupported", "encrypted", "locked", "changed", "limit", "too_large", "unread"];
const AGAIN = ["changed", "limit", "unread", ""]; // what may go better a second time

/**
 * @param {{ reason: string, cause: string, name: string, retry?: () => unknown, remove?: () => unknown,
 *   unlock?: (password: string) => Promise<unknown> }} props each action only where it may be taken
 */
export function Failure({ reason, cause, name, retry, remove, unlock }) {
  const known = KNOWN.includes(reason);
  return html`<div class="failure"><p class=${reason === "unread" ? "warn" : "bad"}>${known ? t(`failure.${reason}`, { cause }) : cause}</p>
    ${reason === "limit" && html`<p class="muted small">${cause}</p>`}
    ${reason === "locked" && unlock && html`<${Password} name=${name} unlock=${unlock} />`}
    <div class="row">${retry && AGAIN.includes(known ? reason : "") && html`<button type="button" aria-label=${`${t(reason === "unread" ? "failure.read" : "jobs.retry")}: ${name}`}
        onClick=${retry}>${t(reason === "unread" ? "failure.read" : "jobs.retry")}</button>`}
      ${remove && html`<button type="button" class="danger" aria-label=${`${t("details.remove")}: ${name}`} onClick=${remove}>${t("details.remove")}</button>`}</div></div>`;
}

function Password({ name, unlock }) {
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const open = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setWrong("");
    await unlock(password).catch((/** @type {any} */ error) => setWrong(error.code === "password_needed" ? t("failure.wrong_password") : error.message));
    setBusy(false);
  };
  return html`<form class="row" onSubmit=${open}><label class="row">${t("failure.password")}<input type="password" required autocomplete="off" maxlength="500"
      aria-label=${`${t("failure.password")}: ${name}`} value=${password} onInput=${(/** @type {any} */ event) => setPassword(event.target.value)} /></label>
    <button class="primary" disabled=${busy || !password}>${t(busy ? "failure.opening" : "failure.open")}</button>
    <span class="bad small" role="alert">${wrong}</span></form>`;
}
