import { html, useEffect, useRef } from "../../ui.js";
import { t } from "../../i18n.js";
import { IconButton } from "./Icons.js";

/** Words to look for, how many places there are, and the way from one to the next. */
export function FindBar({ words, found, onWords, onClose }) {
  const input = useRef(null);
  useEffect(() => input.current.focus(), []);
  const keys = (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      found.step(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") onClose();
  };
  const now = found.matches[found.at];
  const said = !words.trim() ? "" : found.state === "error" ? found.error.message
    : found.state === "looking" ? t("viewer.looking")
      : found.matches.length ? t(found.more ? "viewer.hit_of_more" : "viewer.hit_of", { at: found.at + 1, count: found.matches.length })
        : t("viewer.no_hits");
  return html`<div class="find-bar" role="search">
    <input ref=${input} type="search" value=${words} placeholder=${t("viewer.find_words")} aria-label=${t("viewer.find_words")} maxlength="500"
      onInput=${(event) => onWords(event.target.value)} onKeyDown=${keys} />
    <span class="said" role="status">${said}</span>
    <${IconButton} icon="up" label=${t("viewer.hit_before")} keys="Shift+N" disabled=${!now} onClick=${() => found.step(-1)} />
    <${IconButton} icon="down" label=${t("viewer.hit_after")} keys="N" disabled=${!now} onClick=${() => found.step(1)} />
    <${IconButton} icon="close" label=${t("viewer.close_find")} keys="Esc" onClick=${onClose} />
  </div>`;
}
