// What stands around every view: where one can go, and whether the server answers.
import { t } from "../i18n.js";
import { link } from "../router.js";
import { html } from "../ui.js";

const PLACES = ["", "search", "conversations", "notes", "jobs"];
const WITHIN = /** @type {Record<string, string>} */ ({ conversation: "conversations", library: "", doc: "" });

/** @param {{ here: import("../router.js").Place, online: boolean, children?: any }} props */
export function Frame({ here, online, children }) {
  return html`<a class="skip" href="#main" onClick=${toMain}>${t("frame.skip")}</a>
    <header class="bar">
      <a class="brand" href="#/"><img src="/web/icon.svg" alt="" width="24" height="24" />Hybrid PageIndex</a>
      <nav aria-label=${t("frame.places")}>
        ${PLACES.map((name) => html`<a key=${name} href=${link([name])} aria-current=${here.name === name ? "page" : WITHIN[here.name] === name ? "true" : null}>
          ${t(`frame.${name || "home"}`)}</a>`)}
      </nav>
    </header>
    ${!online && html`<p class="offline" role="alert">${t("frame.offline")}</p>`}
    <main id="main" tabindex="-1">${children}</main>`;
}

/** @param {Event} event */
function toMain(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
