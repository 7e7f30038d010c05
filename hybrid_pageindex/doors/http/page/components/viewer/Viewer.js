import { at } from "../../api.js";
import { html } from "../../ui.js";

/** @param {{ library: string, doc: string, page: number, highlight?: string }} props */
export function Viewer({ library, doc, page }) {
  const picture = `/api/v1${at("libraries", library, "documents", doc, "pages", page, "picture")}`;
  return html`<div class="placeholder"><img class="page-picture" src=${picture} alt="" /></div>`;
}
