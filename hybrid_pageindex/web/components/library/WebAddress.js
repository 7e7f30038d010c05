// Web addresses that are typed or pasted; the server fetches what they lead to.
import { t } from "../../i18n.js";
import { html, useState } from "../../ui.js";
import { Dialog } from "../Dialog.js";

/** Whole addresses; of "example.org/report.pdf" too. "" for what is none. @param {string} typed */
function addressOf(typed) {
  try {
    const { protocol, hostname, href } = new URL(/^[\w+.-]+:(?!\d)/.test(typed) ? typed : `https://${typed}`);
    return /^https?:$/.test(protocol) && hostname ? href : "";
  } catch {
    return "";
  }
}

/** @param {{ name: string, add: (files: import("./uploading.js").Named[]) => void, onClose: () => void }} props */
export function WebAddress({ name, add, onClose }) {
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const given = typed.trim().split(/\s+/), bad = given.find((one) => !addressOf(one));
    if (bad !== undefined) return setWrong(t("web.none", { address: bad }));
    add([...new Set(given.map(addressOf))].map((one) => ({ name: one, file: new File([], "web"), web: true })));
    onClose();
  };
  return html`<${Dialog} title=${t("web.title", { name })} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      <label>${t("web.address")}<input value=${typed} required autofocus autocomplete="off" inputmode="url" spellcheck="false" maxlength="2000" placeholder="https://"
        aria-describedby="web-more" onInput=${(/** @type {any} */ event) => (setTyped(event.target.value), setWrong(""))} /></label>
      <p class="muted small" id="web-more">${t("web.more")}</p>
      ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
      <div class="row"><button class="primary">${t("web.do")}</button><button type="button" onClick=${onClose}>${t("dialog.cancel")}</button></div>
    </form>
  <//>`;
}
