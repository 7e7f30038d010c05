// What was removed, and the way back: a message that stays for a while, with its button.
import { post } from "../api.js";
import { t } from "../i18n.js";
import { html, useEffect, useState } from "../ui.js";

const STAYS = 15000; // ms

/** @typedef {{ text: string, entries: string[] }} Removal `entries` are ids in the bin */

/** @type {(removal: Removal) => void} */
let show = () => {};

/** Say what was removed, and offer to bring it back. @param {string} text @param {string[]} entries */
export const offerUndo = (text, entries) => show({ text, entries: entries.filter(Boolean) });

export function Undo() {
  const [removal, setRemoval] = useState(/** @type {Removal | null} */ (null));
  const [held, hold] = useState(false);
  useEffect(() => void (show = setRemoval), []);
  useEffect(() => {
    if (!removal || held) return;
    const timer = setTimeout(() => setRemoval(null), STAYS);
    return () => clearTimeout(timer);
  }, [removal, held]);
  const undo = async () => {
    const { entries } = /** @type {Removal} */ (removal);
    try {
      for (const entry of entries) await post(`/bin/${encodeURIComponent(entry)}/restore`);
      setRemoval({ text: t("bin.is_back"), entries: [] });
    } catch (/** @type {any} */ error) {
      setRemoval({ text: [error.message, error.advice].filter(Boolean).join(" "), entries: [] });
    }
  };
  return html`<div class="undo" role="status" onMouseEnter=${() => hold(true)} onMouseLeave=${() => hold(false)}
    onFocusIn=${() => hold(true)} onFocusOut=${() => hold(false)}>${removal && html`<span>${removal.text}</span>
      ${removal.entries.length > 0 && html`<button type="button" onClick=${undo}>${t("bin.undo")}</button>`}
      <button type="button" class="quiet" aria-label=${t("dialog.close")} onClick=${() => setRemoval(null)}>✕</button>`}</div>`;
}
