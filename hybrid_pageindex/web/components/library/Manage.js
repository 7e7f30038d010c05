// What concerns a library as a whole: its name, where its files come from, what it takes on the disk, and its end.
import { useAttempt } from "../../attempt.js";
import { useAnswer } from "../../answers.js";
import { at, change, get, post } from "../../api.js";
import { bytes, t } from "../../i18n.js";
import { renounce } from "../../libraries.js";
import { go, link } from "../../router.js";
import { html, useState } from "../../ui.js";
import { offerUndo } from "../Undo.js";
import { Sources } from "./Sources.js";

/** @param {{ name: string, size: any, may: import("../../rights.js").May, close: () => void, changed: () => void }} props */
export function Manage({ name, size, may, close, changed }) {
  const [attempt, said] = useAttempt(changed);
  const owns = may("admin", size?.id);
  const everywhere = may("admin");
  const path = at("libraries", name);
  const removed = (/** @type {string} */ gone) => {
    renounce(gone);
    go(link([""]), true);
  };
  return html`<section class="card manage" aria-labelledby="manage-title" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && close()}>
    <div class="row"><h2 id="manage-title" class="grow">${t("manage.title")}</h2>
      <button type="button" class="quiet" aria-label=${t("manage.close")} onClick=${close}>✕</button></div>
    <p role=${said.bad ? "alert" : "status"} class=${said.bad ? "bad" : "good"}>${said.text}</p>
    <div class="manage-parts">
      ${owns && size && html`<${Names} size=${size} attempt=${attempt} path=${path} />`}
      <${Sources} path=${path} title=${t("manage.sources")} may=${owns && everywhere} writes=${may("write", size?.id)} attempt=${attempt} />
      <${Disk} size=${size} may=${may("read")} />
      ${owns && html`<div class="manage-part"><h3>${t("manage.rebuild")}</h3><p class="muted small">${t("manage.rebuild_more")}</p>
        <${Sure} label=${t("manage.rebuild_do")} word=${name} act=${() => attempt(() => post(`${path}/rebuild`), t("manage.rebuilding"))} /></div>
      <div class="manage-part"><h3>${t("manage.delete")}</h3><p class="muted small">${t("manage.delete_more")}</p>
        <${Sure} danger label=${t("manage.delete_do")} word=${name} act=${() => attempt(() => change("DELETE", path).then(({ bin }) => {
          offerUndo(t("bin.library_removed", { name: size?.alias || name }), [bin]);
          removed(name);
        }))} /></div>`}
    </div>
  </section>`;
}

/** Done only where its name is typed. */
export function Sure({ label, word, act, danger = false }) {
  const [typed, setTyped] = useState("");
  const [asking, ask] = useState(false);
  if (!asking) return html`<button type="button" class=${danger ? "danger" : ""} onClick=${() => ask(true)}>${label}</button>`;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (typed.trim() !== word) return;
    ask(false);
    setTyped("");
    act();
  };
  return html`<form class="sure" onSubmit=${submit}><label class="grow">${t("manage.type", { word })}
      <input value=${typed} autocomplete="off" ref=${(/** @type {any} */ input) => input && !typed && input.focus()} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label>
    <button class=${danger ? "danger" : ""} disabled=${typed.trim() !== word}>${label}</button>
    <button type="button" onClick=${() => (ask(false), setTyped(""))}>${t("details.keep")}</button></form>`;
}

function Names({ size, attempt, path }) {
  const [name, setName] = useState(size.name);
  const [alias, setAlias] = useState(size.alias);
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt(async () => {
      await change("PATCH", path, { name, alias });
      renounce(size.name);
      if (name !== size.name) go(link(["library", name], { manage: 1 }), true);
    }, t("manage.named"));
  };
  return html`<form class="manage-part" onSubmit=${save}><h3>${t("manage.names")}</h3>
    <label>${t("manage.name")}<input required maxlength="200" value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>
    <label>${t("manage.alias")}<input maxlength="200" value=${alias} onInput=${(/** @type {any} */ event) => setAlias(event.target.value)} /></label>
    <button disabled=${name === size.name && alias === size.alias}>${t("details.save")}</button></form>`;
}

function Disk({ size, may }) {
  const { answer: home } = useAnswer((signal) => get("/disk", signal), [], { skip: !may });
  const facts = [["index", size?.vector_bytes], ["originals", home?.original_bytes], ["catalog", home?.catalog_bytes], ["all_indexes", home?.index_bytes], ["cache", home?.cache_bytes]];
  return html`<div class="manage-part"><h3>${t("manage.disk")}</h3>
    <dl class="details-facts">${facts.filter(([, count]) => count !== undefined).map(([name, count]) => html`<div key=${name}><dt>${t(`manage.${name}`)}</dt><dd>${bytes(count)}</dd></div>`)}</dl>
    ${home && html`<p class="muted small">${home.home}</p>`}</div>`;
}
