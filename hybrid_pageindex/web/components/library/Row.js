// What is shown of a document wherever it is listed: its picture, its state, and the ways into it.
import { thumbnailOf, documentPath } from "../viewer/addresses.js";
import { t } from "../../i18n.js";
import { docLink, link } from "../../router.js";
import { html, useEffect, useState } from "../../ui.js";
import { stateOf, titleOf } from "./choosing.js";
import { working } from "../jobs/words.js";

/** @typedef {{ library: string, active: Map<string, import("./documents.js").Job>, opened: string, open: (doc: string) => void,
 *   copies: Map<string, string[]>, chosen: Set<string>, choose: (docs: string[], on: boolean) => void }} Shelf */

const WAIT = 120; // ms that a picture is in sight before it is asked for
const TRIES = 3;

/** @param {{ library: string, row: import("./documents.js").Row }} props */
export function FirstPage({ library, row }) {
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!row.content_id || tries % 2 || tries > 2 * TRIES) return;
    const timer = setTimeout(() => setTries(tries + 1), tries ? 2000 : WAIT);
    return () => clearTimeout(timer);
  }, [row.content_id, tries]);
  const source = thumbnailOf(documentPath(library, row.doc_id), 1, row.content_id);
  return html`<span class="first-page">
    ${row.content_id && tries % 2
      ? html`<img src=${source} alt="" decoding="async" onError=${() => setTries(tries + 1)} />`
      : html`<span class="format-name">${row.format || extension(row.name)}</span>`}
  </span>`;
}

/** @param {string} name */
const extension = (name) => (name.includes(".") ? name.split(".").pop() : "");

/** The way to read it; of what cannot be read, to what is known of it. */
export function TitleLink({ shelf, row, current }) {
  const focus = { "data-main": true, tabIndex: current ? 0 : -1 };
  if (!row.content_id) {
    const open = (/** @type {Event} */ event) => (event.preventDefault(), shelf.open(row.doc_id));
    return html`<a class="title" href=${link(["library", shelf.library], { doc: row.doc_id })} ...${focus} onClick=${open}>${titleOf(row)}</a>`;
  }
  return html`<a class="title" href=${docLink(shelf.library, row.doc_id)} ...${focus}>${titleOf(row)}</a>`;
}

export function State({ shelf, row }) {
  const state = stateOf(row, shelf.active);
  const job = shelf.active.get(row.path);
  if (state === "ready") return null;
  return html`<span class=${`state ${state}`} title=${row.error || null}>${job ? working(job) : t(`library.state_${state}`)}</span>`;
}

/** How often the library has this file. */
export function Copies({ shelf, row }) {
  const copies = shelf.copies.get(row.content_id);
  return copies && html`<span class="state">${t("alike.copies", { n: copies.length })}</span>`;
}

export function DetailsButton({ shelf, row, current }) {
  return html`<button type="button" class="quiet details-button" tabindex=${current ? 0 : -1} aria-expanded=${String(shelf.opened === row.doc_id)}
    aria-label=${t("library.details_of", { name: titleOf(row) })} onClick=${() => shelf.open(row.doc_id)}>${t("library.details")}</button>`;
}

/** Chosen documents are searched, made anew or removed together. */
export function ChooseBox({ shelf, row, current }) {
  return html`<input type="checkbox" class="choose-box" checked=${shelf.chosen.has(row.doc_id)} tabindex=${current ? 0 : -1}
    aria-label=${t("library.choose", { name: titleOf(row) })} onChange=${(/** @type {any} */ event) => shelf.choose([row.doc_id], event.target.checked)} />`;
}
