// What can be done with several documents at once.
import { change, post } from "../../api.js";
import { t } from "../../i18n.js";
import { go, link } from "../../router.js";
import { html, useState } from "../../ui.js";
import { offerUndo } from "../Undo.js";
import { searchLink } from "../search/asking.js";
import { documentPath } from "../viewer/addresses.js";

export const MOST = 1000; // documents of one search

/** @param {{ library: string, chosen: string[], may: boolean, clear: () => void, changed: () => void }} props */
export function ChosenBar({ library, chosen, may, clear, changed }) {
  const [asking, ask] = useState(false);
  const [said, setSaid] = useState("");
  const [busy, setBusy] = useState(false);
  /** One after the other: what went wrong with one is said, and keeps no other. @param {(path: string) => Promise<unknown>} act */
  const each = async (act) => {
    setBusy(true);
    const failed = /** @type {string[]} */ ([]), entries = /** @type {string[]} */ ([]);
    for (const [at, doc] of chosen.entries()) {
      setSaid(t("library.chosen_done", { done: at + 1, n: chosen.length }));
      await act(documentPath(library, doc)).then((/** @type {any} */ done) => done?.bin && entries.push(done.bin), (error) => failed.push(error.message));
    }
    if (entries.length) offerUndo(t("bin.documents_removed", { n: entries.length }), entries);
    setBusy(false);
    ask(false);
    setSaid(failed.length ? t("library.chosen_failed", { n: failed.length }) + " " + failed[0] : "");
    changed();
    if (!failed.length) clear();
  };
  return html`<div class="chosen-bar" role="region" aria-label=${t("library.chosen_bar")}>
    <strong>${t("library.chosen", { n: chosen.length })}</strong><span class="grow small" role="status">${said}</span>
    ${asking ? html`<span class="bad small">${t("library.remove_chosen_sure", { n: chosen.length })}</span>
      <button type="button" class="danger" disabled=${busy} onClick=${() => each((path) => change("DELETE", path))}>${t("details.remove_sure")}</button>
      <button type="button" disabled=${busy} onClick=${() => ask(false)}>${t("details.keep")}</button>` : html`
      <button type="button" disabled=${busy || chosen.length > MOST} onClick=${() => go(searchLink({ library, documents: chosen }))}>${t("library.search_chosen")}</button>
      ${chosen.length === 2 && html`<button type="button" disabled=${busy} onClick=${() => go(link(["compare"], { library, left: chosen[0], right: chosen[1] }))}>${t("compare.do")}</button>`}
      ${may && html`<button type="button" disabled=${busy} onClick=${() => each((path) => post(`${path}/rebuild`))}>${t("details.rebuild")}</button>
        <button type="button" class="danger" disabled=${busy} onClick=${() => ask(true)}>${t("details.remove")}</button>`}
      <button type="button" class="quiet" disabled=${busy} onClick=${clear}>${t("library.choose_none")}</button>`}
  </div>`;
}
