// A window over the view; Escape, and a click beside it, leave it.
import { t } from "../i18n.js";
import { html, useEffect, useRef } from "../ui.js";
import { IconButton } from "./viewer/Icons.js";

/** @param {{ title: string, onClose: () => void, children?: any }} props */
export function Dialog({ title, onClose, children }) {
  const shown = useRef(null);
  useEffect(() => shown.current.showModal(), []);
  return html`<dialog ref=${shown} class="dialog" aria-label=${title} onClose=${onClose}
    onClick=${(/** @type {Event} */ event) => event.target === shown.current && onClose()}>
    <div class="inside stack">
      <header><h2>${title}</h2><${IconButton} icon="close" label=${t("dialog.close")} onClick=${onClose} /></header>
      ${children}
    </div>
  </dialog>`;
}
