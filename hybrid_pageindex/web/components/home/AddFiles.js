// Files that came to no library yet: which one they go to, or what a new one is called.
import { post } from "../../api.js";
import { bytes, t } from "../../i18n.js";
import { go, link } from "../../router.js";
import { html, useState } from "../../ui.js";
import { Dialog } from "../Dialog.js";
import { uploadsOf } from "../library/uploading.js";

const SHOWN = 5; // names

/** @param {{ files: import("../library/uploading.js").Named[], libraries: any[], onClose: () => void }} props */
export function AddFiles({ files, libraries, onClose }) {
  const [chosen, setChosen] = useState(libraries[0]?.name ?? "");
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState("");
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const library = chosen || (await post("/libraries", { name: name.trim() })).name;
      uploadsOf(library).add(files);
      go(link(["library", library]));
    } catch (/** @type {any} */ error) {
      setWrong(`${error.message} ${error.advice}`);
    }
  };
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  return html`<${Dialog} title=${t("home.add", { n: files.length })} onClose=${onClose}>
    <form class="stack" onSubmit=${add}>
      <p class="muted small">${files.slice(0, SHOWN).map((one) => one.name).join(", ")}${files.length > SHOWN ? " …" : ""} (${bytes(size)})</p>
      <label>${t("home.into")}<select value=${chosen} onChange=${(/** @type {any} */ event) => setChosen(event.target.value)}>
        ${libraries.map((one) => html`<option key=${one.id} value=${one.name}>${one.alias || one.name}</option>`)}
        <option value="">${t("home.into_new")}</option></select></label>
      ${!chosen && html`<label>${t("home.name")}<input value=${name} required autofocus maxlength="200" onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>`}
      ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
      <div class="row"><button class="primary">${t("home.add_do")}</button><button type="button" onClick=${onClose}>${t("dialog.cancel")}</button></div>
    </form>
  <//>`;
}
