// Documents as lines of a table, with what decides their order above.
import { ago, bytes, number, t } from "../../i18n.js";
import { html } from "../../ui.js";
import { ChooseBox, Copies, DetailsButton, State, TitleLink } from "./Row.js";
import { VirtualList } from "./VirtualList.js";

const COLUMNS = ["title", "organisation", "year", "type", "pages", "size", "indexed_at"];

/** @param {{ shelf: import("./Row.js").Shelf, rows: import("./documents.js").Row[], sort: string, setSort: (sort: string) => void }} props */
export function DocumentList({ shelf, rows, sort, setSort }) {
  const by = sort.replace("-", "");
  const all = rows.length > 0 && shelf.chosen.size >= rows.length && rows.every((row) => shelf.chosen.has(row.doc_id));
  const line = (/** @type {number} */ index, /** @type {object} */ placed, /** @type {boolean} */ current) => {
    const row = rows[index];
    return html`<div role="row" key=${row.doc_id} aria-rowindex=${index + 2} class=${`line${shelf.opened === row.doc_id ? " opened" : ""}`} ...${placed}>
      <div role="gridcell" class="c-choose"><${ChooseBox} shelf=${shelf} row=${row} current=${current} /></div>
      <div role="gridcell" class="c-title"><${TitleLink} shelf=${shelf} row=${row} current=${current} />
        <span class="under"><${State} shelf=${shelf} row=${row} /><${Copies} shelf=${shelf} row=${row} />
          <span class="narrow-only"> ${[row.organisation, row.year].filter(Boolean).join(" · ")} </span>
          ${row.title && row.title !== row.name ? ` ${row.name}` : ""}</span></div>
      <div role="gridcell" class="c-organisation">${row.organisation}</div>
      <div role="gridcell" class="c-year">${row.year || ""}</div>
      <div role="gridcell" class="c-type">${row.type}</div>
      <div role="gridcell" class="c-pages">${row.pages ? number(row.pages) : ""}</div>
      <div role="gridcell" class="c-size">${bytes(row.size)}</div>
      <div role="gridcell" class="c-indexed_at">${ago(row.indexed_at)}</div>
      <div role="gridcell" class="c-more"><${DetailsButton} shelf=${shelf} row=${row} current=${current} /></div>
    </div>`;
  };
  return html`<div class="documents" role="grid" aria-label=${t("library.documents")} aria-rowcount=${rows.length + 1}>
    <div role="rowgroup"><div role="row" class="line head" aria-rowindex="1">
      <div role="columnheader" class="c-choose"><input type="checkbox" class="choose-box" aria-label=${t("library.choose_all")} checked=${all}
        onChange=${() => shelf.choose(rows.map((row) => row.doc_id), !all)} /></div>
      ${COLUMNS.map((name) => html`<div role="columnheader" key=${name} class=${`c-${name}`} aria-sort=${by !== name ? "none" : sort === name ? "ascending" : "descending"}>
        <button type="button" class="plain" onClick=${() => setSort(sort === name ? `-${name}` : name)}>${t(`library.by_${name}`)}<span
          aria-hidden="true">${by !== name ? "" : sort === name ? " ↑" : " ↓"}</span></button></div>`)}
      <div role="columnheader" class="c-more"><span class="visually-hidden">${t("library.details")}</span></div>
    </div></div>
    <${VirtualList} count=${rows.length} height=${56} attributes=${{ role: "rowgroup" }} item=${line} />
  </div>`;
}
