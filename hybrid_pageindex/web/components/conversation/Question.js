import { t } from "../../i18n.js";
import { html, useEffect, useRef, useState } from "../../ui.js";
import { IconButton } from "../viewer/Icons.js";
import { Branches } from "./Branches.js";

/** What was asked; it can be asked in another way, which begins a branch. */
export function Question({ question, busy, onEdit, onBranch }) {
  const [text, setText] = useState(/** @type {string | null} */ (null)), field = useRef(/** @type {any} */ (null));
  useEffect(() => { if (text !== null) field.current?.focus(); }, [text === null]);
  const ask = async (event) => {
    event?.preventDefault();
    if (text?.trim() && (await onEdit(text.trim()))) setText(null);
  };
  const keys = (event) => {
    if (event.key === "Escape") setText(null);
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) ask(event);
  };
  if (text !== null) {
    return html`<form class="question editing" onSubmit=${ask}>
      <textarea ref=${field} rows="3" value=${text} aria-label=${t("conversation.edit")} maxlength="10000" onInput=${(event) => setText(event.target.value)} onKeyDown=${keys} />
      <div class="row"><button type="submit" class="primary" disabled=${busy || !text.trim()}>${t("conversation.edit_do")}</button>
        <button type="button" onClick=${() => setText(null)}>${t("conversation.keep")}</button></div>
    </form>`;
  }
  return html`<article class="question" aria-label=${t("conversation.you")} data-message=${question.id}>
    <p>${question.text}</p>
    <footer><${Branches} message=${question} onBranch=${onBranch} />
      <${IconButton} icon="edit" label=${t("conversation.edit")} disabled=${busy} onClick=${() => setText(question.text)} /></footer>
  </article>`;
}
