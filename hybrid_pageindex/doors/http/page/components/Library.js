// One library: its documents, what waits, new files, and a search in it.
import { at, follow, get, query, send } from "../api.js";
import { bytes, t } from "../i18n.js";
import { pageLink } from "../router.js";
import { html, useEffect, useState } from "../ui.js";
import { JobList } from "./Jobs.js";
import { Search } from "./Search.js";

/** @param {{ name: string }} props */
export function Library({ name }) {
  const [listed, setListed] = useState(/** @type {any} */ (null));
  const [find, setFind] = useState("");
  const [wrong, setWrong] = useState("");
  const [changed, setChanged] = useState(0);
  const path = at("libraries", name, "documents");
  useEffect(() => {
    const stop = new AbortController();
    get(path + query({ find, most: 200 }), stop.signal).then(setListed, (error) => stop.signal.aborted || setWrong(error.message));
    return () => stop.abort();
  }, [path, find, changed]);
  useEffect(() => follow("/jobs/events" + query({ library: name }), (kind) => {
    if (kind !== "progress") setChanged((now) => now + 1);
  }), [name]);
  const upload = async (/** @type {Iterable<File>} */ files) => {
    setWrong("");
    const form = new FormData();
    for (const file of files) form.append("file", file, file.name);
    await send("POST", path, { body: form }).catch((error) => setWrong(error.message));
    setChanged((now) => now + 1);
  };
  return html`<div class="view stack" onDragOver=${(/** @type {Event} */ event) => event.preventDefault()}
    onDrop=${(/** @type {DragEvent} */ event) => (event.preventDefault(), upload([...(event.dataTransfer?.files ?? [])]))}>
    <h1>${name}</h1>
    <${Search} library=${name} />
    <div class="row">
      <label>${t("library.add")}<input type="file" multiple onChange=${(/** @type {any} */ event) => upload(event.target.files)} /></label>
      <label>${t("library.find")}<input value=${find} onInput=${(/** @type {any} */ event) => setFind(event.target.value)} /></label>
    </div>
    ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
    <${JobList} library=${name} changed=${changed} ended=${false} />
    ${listed && html`<p class="muted">${listed.total === 0 ? t("library.empty") : t("library.count", { n: listed.total })}
      ${listed.documents.length < listed.total && " " + t("library.part", { n: listed.documents.length })}</p>`}
    <ul class="stack">
      ${(listed?.documents ?? []).map((/** @type {any} */ one) => html`<li key=${one.doc_id} class="card">
        ${one.published ? html`<a href=${pageLink(name, one.doc_id, 1)}>${one.title || one.name}</a>` : one.name}
        <p class="muted small">${one.name} · ${t("library.pages", { n: one.pages })} · ${bytes(one.size)}</p>
        ${one.error && html`<p class="bad small">${one.error}</p>`}
        ${one.warnings.map((/** @type {string} */ said) => html`<p class="warn small">${said}</p>`)}
      </li>`)}
    </ul>
  </div>`;
}
