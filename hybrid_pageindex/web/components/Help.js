// How the page is used, and what keys do.
import { t } from "../i18n.js";
import { html } from "../ui.js";
import { Dialog } from "./Dialog.js";

const TOPICS = ["add", "search", "ask", "read"];
const KEYS = { "?": "help", Tab: "tab", Enter: "enter", Esc: "escape" };
const PAGE_KEYS = { "← →": "viewer.next", "/": "viewer.find", "+ −": "viewer.larger", c: "viewer.cite" };

/** @param {{ onClose: () => void }} props */
export function Help({ onClose }) {
  return html`<${Dialog} title=${t("frame.help")} onClose=${onClose}>
    <dl class="topics">${TOPICS.map((one) => html`<div key=${one}><dt>${t(`help.${one}`)}</dt><dd>${t(`help.${one}_more`)}</dd></div>`)}</dl>
    <h3>${t("help.keys")}</h3>
    <dl class="keys">
      ${Object.entries(KEYS).map(([key, name]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${t(`help.key_${name}`)}</dd></div>`)}
      ${Object.entries(PAGE_KEYS).map(([key, name]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${t(name)} (${t("help.on_page")})</dd></div>`)}
    </dl>
  <//>`;
}
