// Folders of the server's disk that libraries are kept up to date with.
import { at, change, get, post, query } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useEffect, useState } from "../../ui.js";

export function Folders() {
  const [libraries, setLibraries] = useState(/** @type {any[]} */ ([]));
  const [sources, setSources] = useState(/** @type {Record<string, any[]>} */ ({}));
  const [library, setLibrary] = useState(""), [folder, setFolder] = useState(""), [said, setSaid] = useState({ text: "", bad: false });
  const look = async () => {
    const found = await get("/libraries");
    setLibraries(found);
    const pairs = await Promise.all(found.map(async (/** @type {any} */ one) => [one.name, await get(at("libraries", one.name, "sources"))]));
    setSources(Object.fromEntries(pairs));
  };
  useEffect(() => void look().catch(() => null), []);
  const doing = async (/** @type {() => Promise<any>} */ work) => {
    try {
      await work();
      setSaid({ text: t("settings.saved"), bad: false });
      setFolder("");
      await look();
    } catch (/** @type {any} */ error) {
      setSaid({ text: `${error.message} ${error.advice ?? ""}`, bad: true });
    }
  };
  const into = library || libraries[0]?.name || "";
  const add = (/** @type {Event} */ event) => (event.preventDefault(), doing(() => post(at("libraries", into, "sources"), { folder })));
  const all = Object.entries(sources).flatMap(([name, some]) => some.map((one) => ({ ...one, library: name })));
  return html`<section class="card stack">
    <form class="row form" onSubmit=${add}>
      <label class="grow">${t("settings.folder")}<input value=${folder} required maxlength="2000" placeholder="/home/me/reports" onInput=${(/** @type {any} */ event) => setFolder(event.target.value)} /></label>
      <label>${t("settings.library")}<select value=${into} onChange=${(/** @type {any} */ event) => setLibrary(event.target.value)}>${libraries.map((one) => html`<option key=${one.id} value=${one.name}>${one.alias || one.name}</option>`)}</select></label>
      <button class="primary" disabled=${!into}>${t("settings.watch")}</button>
    </form>
    <p class=${`small ${said.bad ? "bad" : "good"}`} role="status">${said.text}</p>
    ${all.length === 0 && html`<p class="muted">${t("settings.no_folders")}</p>`}
    <ul class="stack">${all.map((one) => html`<li key=${one.library + one.path} class="row"><span class="grow"><span class="path">${one.path}</span> <span class="muted small">${one.library} · ${t(one.watch ? "settings.watched" : "settings.indexed_once")}</span></span>
      ${one.watch && html`<button type="button" onClick=${() => doing(() => change("DELETE", at("libraries", one.library, "sources") + query({ folder: one.path })))}>${t("settings.unwatch")}</button>`}</li>`)}</ul>
  </section>`;
}
