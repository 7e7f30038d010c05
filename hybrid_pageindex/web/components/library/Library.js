// One library: a question put to it, its documents, what is on its way into it, and what is known of one of them.
import { useAnswer } from "../../answers.js";
import { at, get } from "../../api.js";
import { number, t } from "../../i18n.js";
import { useRights } from "../../rights.js";
import { go, leadFromHere, link, usePlace } from "../../router.js";
import { html, useCallback, useEffect, useMemo, useState } from "../../ui.js";
import { Briefing } from "../briefing/Briefing.js";
import { Search } from "../Search.js";
import { Alike, copiesOf } from "./Alike.js";
import { choose, hasFolders, sorted } from "./choosing.js";
import { ChosenBar, MOST } from "./ChosenBar.js";
import { Details } from "./Details.js";
import { DocumentList } from "./DocumentList.js";
import { useActive, useDocuments, useProgress, useWork } from "./documents.js";
import { DropZone } from "./DropZone.js";
import { FilterBar, VIEWS } from "./FilterBar.js";
import { Folders } from "./Folders.js";
import { Gallery } from "./Gallery.js";
import { Manage } from "./Manage.js";
import { useScrollPlace } from "../../scrolling.js";
import { chosenFiles, useUploads } from "./uploading.js";
import { WebAddress } from "./WebAddress.js";
import { WorkChip, WorkPanel } from "./WorkPanel.js";

/** @param {{ name: string }} props */
export function Library({ name }) {
  const { given } = usePlace();
  const { rows, wrong, again, load } = useDocuments(name);
  const { answer: size, look: loadSize } = useAnswer((signal) => get(at("libraries", name), signal), [name]);
  const published = useCallback((/** @type {string} */ kind) => {
    again();
    if (kind === "changed" || kind === "state") loadSize();
  }, [again, loadSize]);
  const { work, load: loadWork } = useWork(name, published);
  const uploads = useUploads(name);
  const active = useActive(work);
  const progress = useProgress(work);
  const may = useRights();
  const [open, setOpen] = useState(false), [address, setAddress] = useState(false);
  useEffect(() => {
    if (wrong?.status === 404 && size) follow(size.id, given);
  }, [wrong]);

  const set = useCallback((/** @type {Record<string, string | null>} */ changes, /** @type {boolean} */ replace = true) => {
    const now = new URLSearchParams(location.hash.split("?")[1] ?? "");
    go(link(["library", name], { ...Object.fromEntries(now), ...changes }), replace);
  }, [name]);
  const sort = given.get("sort") ?? "title";
  const asked = ["words", "organisation", "type", "year", "format", "state"].map((one) => given.get(one) ?? "").join("\n");
  const { shown, facets } = useMemo(() => choose(rows ?? [], given, active), [rows, asked, active]);
  const varied = useMemo(() => {
    const all = choose(rows ?? [], new URLSearchParams(), active).facets;
    return Object.keys(all).filter((facet) => all[facet].length > 1);
  }, [rows, active]);
  const ordered = useMemo(() => sorted(shown, sort), [shown, sort]);
  const views = useMemo(() => VIEWS.filter((one) => (one === "folders" ? rows && hasFolders(rows) : one !== "alike" || (rows && rows.length > 1))), [rows]);
  const copies = useMemo(() => copiesOf(rows ?? []), [rows]);
  const view = views.find((one) => one === given.get("view")) ?? "list";

  useScrollPlace(Boolean(rows), given);

  const opened = given.get("doc") ?? "";
  const [ticked, setTicked] = useState(/** @type {Set<string>} */ (new Set()));
  const chosen = useMemo(() => (ticked.size ? (rows ?? []).map((row) => row.doc_id).filter((doc) => ticked.has(doc)) : []), [rows, ticked]);
  const shelf = useMemo(() => ({
    library: name, active, opened, chosen: ticked, copies,
    choose: (/** @type {string[]} */ docs, /** @type {boolean} */ on) =>
      setTicked((now) => {
        const next = new Set(now);
        for (const doc of docs) next[on ? "add" : "delete"](doc);
        return next;
      }),
    open: (/** @type {string} */ doc) => set({ doc: doc === opened ? null : doc }, false),
  }), [name, active, opened, ticked, copies, set]);
  const writes = may("write", size?.id);
  const add = (/** @type {import("./uploading.js").Named[]} */ files) => {
    if (!files.length) return;
    uploads.add(files);
    setOpen(true);
  };
  const notes = uploads.same.length ? [...uploads.notes, t("library.same", { n: uploads.same.length, name: uploads.same[0] })] : uploads.notes;
  const busy = active.size + uploads.items.length > 0;
  useEffect(() => void loadWork(), [uploads.items.length]);

  const picked = (/** @type {any} */ event) => {
    add(chosenFiles(event.target.files));
    event.target.value = "";
  };
  if (wrong?.status === 404) {
    return html`<div class="view library"><div class="no-documents" role="alert"><h1>${t("library.gone", { name })}</h1>
      <p><a href=${link([""])}>${t("library.home")}</a></p></div></div>`;
  }
  return html`<div class="view library">
    ${writes && html`<${DropZone} name=${name} add=${add} />`}
    <header class="row library-head">
      <h1 class="grow">${size?.alias || name}</h1>
      <${WorkChip} uploads=${uploads} work=${work} open=${open} turn=${() => setOpen(!open)} />
      ${writes && html`<label class="button primary">${t("library.add")}<input class="visually-hidden" type="file" multiple onChange=${picked} /></label>
        <label class="button folder-button">${t("library.add_folder")}<input class="visually-hidden" type="file" webkitdirectory onChange=${picked} /></label>
        <button type="button" onClick=${() => setAddress(true)}>${t("web.add")}</button>`}
      <button type="button" aria-expanded=${String(given.has("manage"))} onClick=${() => set({ manage: given.has("manage") ? null : "1" }, false)}>${t("manage.title")}</button>
    </header>
    ${address && html`<${WebAddress} name=${size?.alias || name} add=${add} onClose=${() => setAddress(false)} />`}
    ${given.has("manage") && html`<${Manage} name=${name} size=${size} may=${may} close=${() => set({ manage: null }, false)}
      changed=${() => (again(), loadWork(), loadSize())} />`}
    <${Search} library=${name} documents=${chosen.length > MOST ? [] : chosen} />
    ${rows && rows.length > 0 && html`<${Briefing} library=${name} />`}
    ${uploads.lost.length > 0 && html`<div class="notice warn" role="status"><p>${t("library.lost", { n: uploads.lost.length })}
      ${" "}${uploads.lost.slice(0, 5).join(", ")}${uploads.lost.length > 5 ? " …" : ""}</p>
      <button type="button" class="quiet" onClick=${() => uploads.dismiss()}>${t("library.understood")}</button></div>`}
    ${notes.length > 0 && html`<div class="notice" role="status"><ul>${notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>
      <button type="button" class="quiet" onClick=${() => uploads.dismiss()}>${t("library.understood")}</button></div>`}
    ${(open || (busy && rows?.length === 0)) && html`<${WorkPanel} library=${name} rows=${rows ?? []} uploads=${uploads} work=${work} progress=${progress} may=${writes} changed=${loadWork} />`}
    ${wrong && html`<div class="notice bad" role="alert"><p>${wrong.message} ${wrong.advice}</p>
      <button type="button" onClick=${load}>${t("library.try_again")}</button></div>`}
    ${rows === null ? !wrong && html`<${Skeleton} />` : rows.length === 0 ? html`<${Empty} writes=${writes} busy=${busy} />` : html`
      <div class=${`library-body${opened ? " with-details" : ""}`}>
        <div class="library-list">
          <${FilterBar} given=${given} set=${set} view=${view} sort=${sort} facets=${facets} varied=${varied} views=${views} />
          <p class="muted small count" role="status">${ordered.length === rows.length ? t("library.count", { n: rows.length })
            : t("library.count_of", { shown: number(ordered.length), n: rows.length })}</p>
          ${view === "alike" ? html`<${Alike} shelf=${shelf} rows=${rows} shown=${shown} />`
            : ordered.length === 0 ? html`<p class="muted fits-none">${t("library.nothing_fits")}</p>`
            : view === "gallery" ? html`<${Gallery} shelf=${shelf} rows=${ordered} />`
            : view === "folders" ? html`<${Folders} shelf=${shelf} rows=${ordered} />`
            : html`<${DocumentList} shelf=${shelf} rows=${ordered} sort=${sort} setSort=${(/** @type {string} */ one) => set({ sort: one })} />`}
          ${chosen.length > 0 && html`<${ChosenBar} library=${name} chosen=${chosen} may=${writes} clear=${() => setTicked(new Set())}
            changed=${() => (again(), loadWork())} />`}
        </div>
        ${opened && html`<${Details} key=${opened} library=${name} doc=${opened} row=${rows.find((one) => one.doc_id === opened)} may=${writes} jobs=${work?.jobs ?? []}
          close=${() => set({ doc: null }, false)} changed=${() => (again(), loadWork())} />`}
      </div>`}
  </div>`;
}

/** To a library that is called otherwise now. @param {string} id @param {URLSearchParams} given */
const follow = (id, given, lead = leadFromHere()) => get("/libraries").then((all) => {
  const renamed = all.find((/** @type {any} */ one) => one.id === id);
  if (renamed) lead(link(["library", renamed.name], Object.fromEntries(given)), true);
}, () => null);

/** As high as what will stand there, so that nothing jumps. */
function Skeleton() {
  return html`<div class="waiting-lines" aria-busy="true"><span class="visually-hidden" role="status">${t("library.loading")}</span>
    ${[...Array(8).keys()].map((one) => html`<div key=${one} class="waiting-line"></div>`)}</div>`;
}

function Empty({ writes, busy }) {
  return html`<div class="no-documents"><h2>${t(busy ? "library.empty_busy" : "library.empty")}</h2>
    <p class="muted">${t(writes ? "library.empty_how" : "library.empty_read")}</p></div>`;
}
