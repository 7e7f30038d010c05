// A library is begun: what it is called.
import { post } from "../../api.js";
import { t } from "../../i18n.js";
import { go, link } from "../../router.js";
import { html, useState } from "../../ui.js";
import { Dialog } from "../Dialog.js";

/** @param {{ onClose: () => void }} props */
export function NewLibrary({ onClose }) {
  const [name, setName] = useState("");
  const [alias, setAlias] = useState("");
  const [wrong, setWrong] = useState("");
  const create = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const made = await post("/libraries", { name: name.trim(), alias: alias.trim() });
      go(link(["library", made.name]));
    } catch (/** @type {any} */ error) {
      setWrong(`${error.message} ${error.advice}`);
    }
  };
  return html`<${Dialog} title=${t("home.new")} onClose=${onClose}>
    <form class="stack" onSubmit=${create}>
      <label>${t("home.name")}<input value=${name} required autofocus maxlength="200" onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>
      <label>${t("home.alias")}<input value=${alias} maxlength="200" onInput=${(/** @type {any} */ event) => setAlias(event.target.value)} /></label>
      ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
      <div class="row"><button class="primary">${t("home.create")}</button><button type="button" onClick=${onClose}>${t("dialog.cancel")}</button></div>
    </form>
  <//>`;
}
