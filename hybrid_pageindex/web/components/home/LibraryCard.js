// One library of the home view: what is in it, when it was last changed and used, what waits and failed; its names, and its end.
import { at, change } from "../../api.js";
import { ago, t } from "../../i18n.js";
import { renounce } from "../../libraries.js";
import { link } from "../../router.js";
import { html, useState } from "../../ui.js";
import { Dialog } from "../Dialog.js";
import { offerUndo } from "../Undo.js";
import { IconButton } from "../viewer/Icons.js";

/** @param {{ library: any, owns: boolean, changed: () => void }} props */
export function LibraryCard({ library, owns, changed }) {
  const [open, setOpen] = useState("");
  const { name, alias, documents, pages, waiting, failed, changed_at: changedAt, used_at: used } = library;
  const times = [changedAt && t("home.changed", { ago: ago(changedAt) }), used ? t("home.used", { ago: ago(used) }) : t("home.unused")];
  return html`<li class="card library-card stack">
    <header class="row"><h2 class="grow"><a href=${link(["library", name])}>${alias || name}</a>
        ${alias && html` <span class="muted small">${name}</span>`}</h2>
      ${owns && html`<${IconButton} icon="edit" label=${t("home.rename", { name })} onClick=${() => setOpen("names")} />
        <${IconButton} icon="remove" label=${t("home.delete", { name })} onClick=${() => setOpen("end")} />`}</header>
    <p class="figures"><span><b>${t("library.count", { n: documents })}</b></span> <span>${t("library.pages", { n: pages })}</span></p>
    <p class="row small"><span class="muted grow">${times.filter(Boolean).join(" · ")}</span>
      ${waiting > 0 && html`<a class="state-chip" href=${link(["jobs"])}>${t("home.waiting", { n: waiting })}</a>`}
      ${failed > 0 && html`<a class="state-chip bad" href=${link(["library", name], { state: "failed" })} title=${library.last_error}>${t("home.failed", { n: failed })}</a>`}</p>
    ${open === "names" && html`<${Names} library=${library} onClose=${() => setOpen("")} changed=${changed} />`}
    ${open === "end" && html`<${End} library=${library} onClose=${() => setOpen("")} changed=${changed} />`}
  </li>`;
}

function Names({ library, onClose, changed }) {
  const [name, setName] = useState(library.name);
  const [alias, setAlias] = useState(library.alias);
  const [wrong, setWrong] = useState("");
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await change("PATCH", at("libraries", library.name), { name, alias });
      renounce(library.name);
      onClose();
      changed();
    } catch (/** @type {any} */ error) {
      setWrong(`${error.message} ${error.advice}`);
    }
  };
  return html`<${Dialog} title=${t("home.rename", { name: library.name })} onClose=${onClose}>
    <form class="stack" onSubmit=${save}>
      <label>${t("home.name")}<input value=${name} required maxlength="200" onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>
      <label>${t("home.alias")}<input value=${alias} maxlength="200" onInput=${(/** @type {any} */ event) => setAlias(event.target.value)} /></label>
      ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
      <div class="row"><button class="primary">${t("dialog.save")}</button><button type="button" onClick=${onClose}>${t("dialog.cancel")}</button></div>
    </form>
  <//>`;
}

function End({ library, onClose, changed }) {
  const [wrong, setWrong] = useState("");
  const remove = async () => {
    try {
      const { bin } = await change("DELETE", at("libraries", library.name));
      offerUndo(t("bin.library_removed", { name: library.alias || library.name }), [bin]);
      renounce(library.name);
      onClose();
      changed();
    } catch (/** @type {any} */ error) {
      setWrong(`${error.message} ${error.advice}`);
    }
  };
  return html`<${Dialog} title=${t("home.delete", { name: library.name })} onClose=${onClose}>
    <p>${t("home.delete_more", { n: library.documents, pages: library.pages })}</p>
    ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
    <div class="row"><button type="button" class="danger" onClick=${remove}>${t("home.delete_do")}</button><button type="button" onClick=${onClose}>${t("dialog.cancel")}</button></div>
  <//>`;
}
