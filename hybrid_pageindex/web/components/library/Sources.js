// Folders of the server's disk that a library follows.
import { useAnswer } from "../../answers.js";
import { change, get, post, query } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../ui.js";

/** @param {{ path: string, may: boolean, writes: boolean, attempt: import("../../attempt.js").Attempt, title?: string }} props */
export function Sources({ path, may, writes, attempt, title }) {
  const { answer, look: load } = useAnswer((signal) => get(`${path}/sources`, signal), [path], { fresh: true });
  /** @type {any[] | null} */
  const sources = answer;
  const [folder, setFolder] = useState("");
  const watch = (/** @type {string} */ one) => attempt(() => post(`${path}/sources`, { folder: one }).then(load), t("manage.watched"));
  const leave = (/** @type {string} */ one, /** @type {boolean} */ forget) =>
    attempt(() => change("DELETE", `${path}/sources${query({ folder: one, forget })}`).then(load), t("manage.unwatched"));
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    await watch(folder.trim());
    setFolder("");
  };
  return html`<div class="manage-part wide">${title && html`<h3>${title}</h3>`}
    ${sources?.length === 0 && html`<p class="muted small">${t("manage.no_sources")}</p>`}
    <ul class="sources-list">${(sources ?? []).map((one) => html`<li key=${one.path} class="row"><span class="grow">${one.path}
        <span class="muted small"> ${t(one.watch ? "manage.is_watched" : `manage.kind_${one.kind}`)}</span></span>
      ${may && one.kind === "folder" && !one.watch && html`<button type="button" class="quiet" aria-label=${`${t("manage.watch")}: ${one.path}`} onClick=${() => watch(one.path)}>${t("manage.watch")}</button>`}
      ${may && one.watch && html`<button type="button" class="quiet" aria-label=${`${t("manage.unwatch")}: ${one.path}`} onClick=${() => leave(one.path, false)}>${t("manage.unwatch")}</button>`}
      ${may && one.kind === "folder" && html`<button type="button" class="quiet" aria-label=${`${t("manage.forget")}: ${one.path}`} onClick=${() => leave(one.path, true)}>${t("manage.forget")}</button>`}</li>`)}</ul>
    ${may && html`<form class="row" onSubmit=${add}><label class="grow">${t("manage.folder")}
      <input required maxlength="2000" placeholder="/home/me/reports" value=${folder} onInput=${(/** @type {any} */ event) => setFolder(event.target.value)} /></label>
      <button>${t("manage.watch")}</button></form>`}
    ${!may && html`<p class="muted small">${t("manage.admins")}</p>`}
    ${writes && sources && sources.length > 0 && html`<button type="button" onClick=${() => attempt(() => post(`${path}/update`), t("manage.looking"))}>${t("manage.look")}</button>`}
  </div>`;
}
