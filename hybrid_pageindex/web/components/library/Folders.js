// Documents in the folders that they were dropped or found in.
import { bytes, t } from "../../i18n.js";
import { html, useMemo, useState } from "../../ui.js";
import { branches } from "./choosing.js";
import { ChooseBox, DetailsButton, State, TitleLink } from "./Row.js";
import { VirtualList } from "./VirtualList.js";

const FEW = 40; // documents of a folder that is shown open

/** @param {{ shelf: import("./Row.js").Shelf, rows: import("./documents.js").Row[] }} props */
export function Folders({ shelf, rows }) {
  const [turned, setTurned] = useState(/** @type {Map<string, boolean>} */ (new Map()));
  const lines = useMemo(() => {
    const open = new Set([...turned].filter(([, on]) => on).map(([key]) => key));
    if (rows.length <= FEW) for (let found = branches(rows, open), size = -1; size !== open.size; found = branches(rows, open)) {
      size = open.size;
      for (const one of found) if (!one.row && turned.get(one.key) !== false) open.add(one.key);
    }
    return branches(rows, open).map((line) => ({ ...line, open: open.has(line.key) }));
  }, [rows, turned]);
  const turn = (/** @type {string} */ key, /** @type {boolean} */ on) => setTurned((now) => new Map(now).set(key, on));
  const onKey = (/** @type {KeyboardEvent} */ event, /** @type {number} */ index) => {
    const line = lines[index];
    if (line.row || !["ArrowRight", "ArrowLeft"].includes(event.key)) return false;
    turn(line.key, event.key === "ArrowRight");
    return true;
  };
  const item = (/** @type {number} */ index, /** @type {object} */ placed, /** @type {boolean} */ current) => {
    const { key, name, level, documents, row, open } = lines[index];
    const indent = html`<span class="indent" style=${`width:${(level - 1) * 18}px`}></span>`;
    if (row) {
      return html`<div role="row" key=${key} aria-level=${level} aria-rowindex=${index + 1} class=${`leaf${shelf.opened === row.doc_id ? " opened" : ""}`} ...${placed}>
        <div role="gridcell" class="leaf-name">${indent}<${ChooseBox} shelf=${shelf} row=${row} current=${current} /><${TitleLink} shelf=${shelf} row=${row} current=${current} /> <${State} shelf=${shelf} row=${row} /></div>
        <div role="gridcell" class="muted small c-size">${bytes(row.size)}</div>
        <div role="gridcell"><${DetailsButton} shelf=${shelf} row=${row} current=${current} /></div>
      </div>`;
    }
    return html`<div role="row" key=${key} aria-level=${level} aria-expanded=${String(open)} aria-rowindex=${index + 1} class="leaf" ...${placed}>
      <div role="gridcell" class="leaf-name">${indent}<button type="button" class="plain folder" data-main tabindex=${current ? 0 : -1}
        onClick=${() => turn(key, !open)}><span class="turn" aria-hidden="true">${open ? "▾" : "▸"}</span>${name}</button>
        <span class="muted small">${t("library.count", { n: documents })}</span></div>
    </div>`;
  };
  return html`<div role="treegrid" class="documents" aria-label=${t("library.folders")} aria-rowcount=${lines.length}>
    <${VirtualList} count=${lines.length} height=${40} attributes=${{ role: "rowgroup" }} item=${item} onKey=${onKey} /></div>`;
}
