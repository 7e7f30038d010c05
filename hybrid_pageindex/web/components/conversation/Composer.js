import { t } from "../../i18n.js";
import { remember, remembered } from "../../storage.js";
import { html, useEffect, useRef, useState } from "../../ui.js";
import { Icon } from "../viewer/Icons.js";

const EFFORTS = ["fast", "auto", "deep"];

/** Where questions are written. What was typed stays with the conversation until it is asked. */
export function Composer({ id, running, onAsk, onStop }) {
  const kept = `draft ${id}`, field = useRef(/** @type {any} */ (null));
  const [text, setText] = useState(() => remembered(kept, "session")), [effort, setEffort] = useState(() => remembered("effort") || "auto");
  useEffect(() => {
    remember(kept, text, "session");
    field.current.style.height = "auto";
    field.current.style.height = `${Math.min(field.current.scrollHeight + 2, 200)}px`;
  }, [text]);
  const ask = async (event) => {
    event.preventDefault();
    const question = text.trim();
    if (!question || running) return;
    setText("");
    if (!(await onAsk(question, effort === "auto" ? undefined : effort))) setText((now) => now || question); // what was typed meanwhile stays
  };
  const keys = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && ask(event);
  const choose = (event) => {
    setEffort(event.target.value);
    remember("effort", event.target.value);
  };
  return html`<form class="composer" onSubmit=${ask}>
    <textarea ref=${field} rows="1" value=${text} maxlength="10000" placeholder=${t("conversation.ask")} aria-label=${t("conversation.ask")}
      onInput=${(event) => setText(event.target.value)} onKeyDown=${keys} />
    <div class="composer-row">
      <select aria-label=${t("conversation.effort")} value=${effort} onChange=${choose}>${EFFORTS.map((one) => html`<option value=${one}>${t(`conversation.effort_${one}`)}</option>`)}</select>
      ${running ? html`<button type="button" class="stop" onClick=${onStop}><${Icon} name="stop" />${t("conversation.stop")}</button>`
        : html`<button type="submit" class="primary" disabled=${!text.trim()}>${t("conversation.send")}<${Icon} name="send" /></button>`}
    </div>
  </form>`;
}
