// Documents that are the same file, and those that have nearly the same words, in groups.
import { useAttempt } from "../../attempt.js";
import { at, get } from "../../api.js";
import { number, t } from "../../i18n.js";
import { html, useEffect, useState } from "../../ui.js";
import { ChooseBox, DetailsButton, State, TitleLink } from "./Row.js";

const SHOWN = 100; // groups

/** @typedef {{ same: boolean, documents: { doc_id: string, share: number }[] }} Group */
/** @typedef {{ groups: Group[], compared: number, documents: number, min_share: number, sequence: number, document_pages: number, pages_limit: number }} Compared */

/** Documents of the same file, by the content that they share. @param {import("./documents.js").Row[]} rows */
export function copiesOf(rows) {
  const copies = /** @type {Map<string, string[]>} */ (new Map());
  for (const { content_id: content, doc_id: doc } of rows) if (content) copies.set(content, [...copies.get(content) ?? [], doc]);
  return new Map([...copies].filter(([, docs]) => docs.length > 1));
}

/** @param {{ shelf: import("./Row.js").Shelf, rows: import("./documents.js").Row[], shown: import("./documents.js").Row[] }} props `shown`: rows that fit the filters */
export function Alike({ shelf, rows, shown }) {
  const [compared, setCompared] = useState(/** @type {Compared | null} */ (null)), [busy, setBusy] = useState(false);
  const [attempt, said] = useAttempt();
  useEffect(() => setCompared(null), [shelf.library]);
  const byId = new Map(rows.map((row) => [row.doc_id, row])), fits = new Set(shown.map((row) => row.doc_id));
  /** @type {Group[]} */
  const same = [...shelf.copies.values()].map((docs) => ({ same: true, documents: docs.map((doc) => ({ doc_id: doc, share: 1 })) }));
  const groups = (compared ? compared.groups : same) // what was removed since is left out
    .map((group) => ({ ...group, documents: group.documents.filter((one) => byId.has(one.doc_id)) }))
    .filter((group) => group.documents.length > 1 && group.documents.some((one) => fits.has(one.doc_id)));
  const compare = async () => {
    setBusy(true);
    await attempt(async () => setCompared(await get(`${at("libraries", shelf.library)}/duplicates`)));
    setBusy(false);
  };
  return html`<section class="alike stack" aria-label=${t("alike.title")}>
    <div class="row"><p class="muted small grow" role="status">${compared
      ? t("alike.compared", { compared: compared.compared, n: compared.documents, share: Math.round(100 * compared.min_share), sequence: compared.sequence, pages: compared.document_pages, limit: compared.pages_limit })
      : t("alike.more")}</p>
      <button type="button" disabled=${busy} onClick=${compare}>${t(busy ? "alike.busy" : "alike.compare")}</button></div>
    ${said.bad && html`<p class="bad" role="alert">${said.text}</p>`}
    ${groups.length === 0 && html`<p class="muted fits-none">${t(compared ? "alike.none" : "alike.none_same")}</p>`}
    ${groups.slice(0, SHOWN).map(({ same: equal, documents }) => html`<section key=${documents[0].doc_id} class="card stack" aria-label=${t(equal ? "alike.same" : "alike.near", { n: documents.length })}>
      <h2 class="small">${t(equal ? "alike.same" : "alike.near", { n: documents.length })}</h2>
      <ul>${documents.map(({ doc_id: doc, share }, order) => html`<${Member} key=${doc} shelf=${shelf} row=${byId.get(doc)}
        share=${order && !equal ? t("alike.share", { share: number(Math.round(100 * share)) }) : ""} />`)}</ul></section>`)}
    ${groups.length > SHOWN && html`<p class="muted small">${t("library.more_files", { n: groups.length - SHOWN })}</p>`}
  </section>`;
}

/** @param {{ shelf: import("./Row.js").Shelf, row: any, share: string }} props */
const Member = ({ shelf, row, share }) => html`<li class="row"><${ChooseBox} shelf=${shelf} row=${row} current />
  <span class="grow"><${TitleLink} shelf=${shelf} row=${row} current /> <span class="muted small">${row.path.replace(/^(upload|web):\/+/, "")}</span> <${State} shelf=${shelf} row=${row} /></span>
  <span class="muted small">${share}</span><${DetailsButton} shelf=${shelf} row=${row} current /></li>`;
