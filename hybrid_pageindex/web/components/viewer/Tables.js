import { html } from "../../ui.js";
import { t } from "../../i18n.js";

const NUMBER = /^[-+−(]?\s*[$€£¥]?\s*\d[\d.,'’\s]*\)?\s*[%$€£¥]?$/;
const line = (row) => row.map((cell) => cell.replace(/\s+/g, " ")).join("\t");

/** The tables of a page as tables, which spreadsheets take as they are copied. */
export function Tables({ tables, onCopy }) {
  if (!tables.length) return html`<p class="quiet">${t("viewer.no_tables")}</p>`;
  return tables.map((table, at) => {
    const name = t("viewer.table", { number: at + 1, rows: table.rows.length });
    const cells = (row, kind) => html`<tr>${row.map((cell) => kind === "th" ? html`<th scope="col">${cell}</th>` : html`<td class=${NUMBER.test(cell) ? "number" : ""}>${cell}</td>`)}</tr>`;
    return html`<figure class="table" key=${at}>
      <figcaption><span>${name}</span><button type="button" class="quiet-button" onClick=${() => onCopy(table.rows.map(line).join("\n"))}>${t("viewer.copy")}</button></figcaption>
      <div class="scroll" tabindex="0" role="region" aria-label=${name}><table>
        ${table.heads > 0 && html`<thead>${table.rows.slice(0, table.heads).map((row) => cells(row, "th"))}</thead>`}
        <tbody>${table.rows.slice(table.heads).map((row) => cells(row, "td"))}</tbody>
      </table></div>
    </figure>`;
  });
}
