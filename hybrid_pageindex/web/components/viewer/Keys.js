import { html, useEffect, useRef } from "../../ui.js";
import { t } from "../../i18n.js";
import { IconButton } from "./Icons.js";

const KEYS = [
  ["→ PageDown", "next"], ["← PageUp", "previous"], ["Home", "first"], ["End", "last"], ["g", "go_to"], ["/", "find"], ["n", "hit_after"],
  ["Shift+N", "hit_before"], ["+", "larger"], ["-", "smaller"], ["w", "fit_width"], ["0", "fit_page"], ["r", "rotate"], ["t", "view_text"],
  ["b", "view_tables"], ["p", "two_pages"], ["s", "pages"], ["o", "contents"], ["c", "cite"], ["k", "keep"], ["h", "highlight"],
];

export function KeysHelp({ onClose }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} class="keys-help" aria-label=${t("viewer.keys")} onClose=${onClose}>
    <header><h2>${t("viewer.keys")}</h2><${IconButton} icon="close" label=${t("viewer.close")} onClick=${onClose} /></header>
    <dl>${KEYS.map(([key, name]) => html`<div><dt>${key.split(" ").map((one) => html`<kbd>${one}</kbd>`)}</dt><dd>${t(`viewer.${name}`)}</dd></div>`)}</dl>
  </dialog>`;
}

/** What a key means while nothing is being typed. @param {KeyboardEvent} event */
export function actionOf(event) {
  const at = /** @type {HTMLElement} */ (event.target);
  if (event.altKey || at.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable], dialog, [role=tree]")) return null;
  if (event.ctrlKey || event.metaKey) return event.key.toLowerCase() === "f" ? "find" : null;
  const named = {
    PageDown: "next", PageUp: "previous", ArrowRight: "next", ArrowLeft: "previous", Home: "first", End: "last", "/": "find", n: "hit_after",
    N: "hit_before", "+": "larger", "=": "larger", "-": "smaller", w: "fit_width", 0: "fit_page", r: "rotate", t: "view_text", b: "view_tables",
    p: "two_pages", s: "pages", o: "contents", c: "cite", k: "keep", h: "highlight", g: "go_to", "?": "keys", Escape: "leave",
  };
  return named[event.key] || null;
}
