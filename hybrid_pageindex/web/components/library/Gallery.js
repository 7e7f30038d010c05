// Documents as their first pages.
import { t } from "../../i18n.js";
import { html } from "../../ui.js";
import { ChooseBox, DetailsButton, FirstPage, State, TitleLink } from "./Row.js";
import { VirtualList } from "./VirtualList.js";

/** @param {{ shelf: import("./Row.js").Shelf, rows: import("./documents.js").Row[] }} props */
export function Gallery({ shelf, rows }) {
  const card = (/** @type {number} */ index, /** @type {object} */ placed, /** @type {boolean} */ current) => {
    const row = rows[index];
    return html`<div role="listitem" key=${row.doc_id} class="cover" aria-setsize=${rows.length} aria-posinset=${index + 1} ...${placed}>
      <div class=${`cover-card${shelf.opened === row.doc_id ? " opened" : ""}${shelf.chosen.size ? " choosing" : ""}`}>
        <${FirstPage} library=${shelf.library} row=${row} />
        <${TitleLink} shelf=${shelf} row=${row} current=${current} />
        <span class="under">${row.pages ? t("library.pages", { n: row.pages }) : ""} <${State} shelf=${shelf} row=${row} /></span>
        <${ChooseBox} shelf=${shelf} row=${row} current=${current} />
        <${DetailsButton} shelf=${shelf} row=${row} current=${current} />
      </div>
    </div>`;
  };
  return html`<${VirtualList} count=${rows.length} height=${292} width=${152}
    attributes=${{ role: "list", "aria-label": t("library.documents") }} item=${card} />`;
}
