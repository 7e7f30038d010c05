import { t } from "../../i18n.js";
import { html, useEffect, useRef } from "../../ui.js";
import { EFFORTS } from "./asking.js";

/** Is the key meant for a field? @param {any} target */
const writes = (target) => target?.matches?.("input:not([type=radio], [type=checkbox]), textarea, select") || target?.isContentEditable;

/**
 * One box to search and to ask. '/' leads to it.
 * @param {{ text: string, effort: string, busy?: boolean, focus?: boolean, children?: any,
 *   onText: (text: string) => void, onSearch: () => void, onAsk: () => void, onEffort: (effort: string) => void }} props
 */
export function Box({ text, effort, busy = false, focus = false, children, onText, onSearch, onAsk, onEffort }) {
  const field = useRef(/** @type {any} */ (null)), filled = Boolean(text.trim());
  useEffect(() => {
    if (focus) field.current.focus({ preventScroll: true });
    const keys = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || writes(event.target)) return;
      event.preventDefault();
      field.current.focus();
      field.current.select();
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  const search = (/** @type {Event} */ event) => (event.preventDefault(), filled && onSearch());
  const down = (/** @type {KeyboardEvent} */ event) => {
    const first = /** @type {HTMLElement | null} */ (event.key === "ArrowDown" ? document.querySelector(".hit-head a") : null);
    if (first) (event.preventDefault(), first.focus());
  };
  return html`<form class="ask-box" role="search" onSubmit=${search}>
    <div class="ask-line">
      <input ref=${field} type="search" required maxlength="10000" autocomplete="off" enterkeyhint="search" aria-label=${t("search.question")} placeholder=${t("search.question")}
        value=${text} onKeyDown=${down} onInput=${(/** @type {any} */ event) => onText(event.target.value)} />
      <button class="primary" disabled=${!filled} aria-busy=${String(busy)}>${t("search.do")}</button>
      <button type="button" disabled=${!filled} onClick=${onAsk} title=${t("search.ask_more")}>${t("search.ask")}</button>
    </div>
    <div class="ask-choices">
      <fieldset class="segments"><legend class="visually-hidden">${t("conversation.effort")}</legend>
        ${EFFORTS.map((one) => html`<label key=${one} title=${t(`search.effort_${one}`)}><input type="radio" name="effort" value=${one} checked=${one === effort} onChange=${() => onEffort(one)} /><span>${t(`conversation.effort_${one}`)}</span></label>`)}
      </fieldset>
      ${children}
      <span class="effort-more muted small">${t(`search.effort_${effort}`)}</span>
    </div>
  </form>`;
}
