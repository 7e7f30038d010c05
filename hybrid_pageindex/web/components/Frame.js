// What stands around every view: where one can go, how it looks, and whether the server answers.
import { choose, language, LANGUAGES, t } from "../i18n.js";
import { link } from "../router.js";
import { theme, THEMES, wear } from "../theme.js";
import { html, useEffect, useState } from "../ui.js";
import { Help } from "./Help.js";
import { Undo } from "./Undo.js";
import { Icon, IconButton } from "./viewer/Icons.js";

const PLACES = ["", "search", "conversations", "notes", "jobs", "settings"];
const WITHIN = /** @type {Record<string, string>} */ ({ conversation: "conversations", library: "", doc: "", compare: "", count: "search" });

/** @param {{ here: import("../router.js").Place, online: boolean, children?: any }} props */
export function Frame({ here, online, children }) {
  const [help, setHelp] = useState(false);
  useEffect(() => {
    const keys = (/** @type {KeyboardEvent} */ event) => {
      const at = /** @type {HTMLElement} */ (event.target);
      if (event.key !== "?" || event.ctrlKey || at.closest?.("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable], dialog")) return;
      if (!document.querySelector(".viewer:not(.embedded)")) setHelp(true); // which has keys of its own to tell of
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  useEffect(() => document.querySelector(".bar nav [aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" }), [here.name]); // of a narrow screen
  const at = [here.name, ...here.parts.slice(0, 2)].join("/"); // pages of a document are one place
  useEffect(fromTheTop, [at]);
  return html`<a class="skip" href="#main" onClick=${toMain}>${t("frame.skip")}</a>
    <header class="bar">
      <a class="brand" href="#/"><svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#1f5f8b"/><path d="M8 9h16M8 16h6m3 0h7M8 23h6m3 0h4" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg><span>Hybrid PageIndex</span></a>
      <nav aria-label=${t("frame.places")}>
        ${PLACES.map((name) => html`<a key=${name} href=${link([name])} aria-current=${here.name === name ? "page" : WITHIN[here.name] === name ? "true" : null}>
          ${t(`frame.${name || "home"}`)}</a>`)}
      </nav>
      <${Appearance} />
      <${IconButton} icon="help" label=${t("frame.help")} keys="?" onClick=${() => setHelp(true)} />
    </header>
    ${!online && html`<p class="offline" role="alert">${t("frame.offline")}</p>`}
    <main id="main" tabindex="-1">${children}</main>
    <${Undo} />
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

/** The first Tab in another place leads to the skip link; what has the focus within the place keeps it. */
function fromTheTop() {
  if (document.querySelector("main :focus, dialog :focus")) return;
  const top = /** @type {HTMLElement} */ (document.getElementById("app"));
  top.tabIndex = -1;
  top.focus({ preventScroll: true });
  top.blur(); // browsers go on from where the focus was last
  top.removeAttribute("tabindex");
}

function Appearance() {
  const [worn, setWorn] = useState(theme);
  const [open, setOpen] = useState(false);
  const dress = (/** @type {any} */ event) => {
    wear(event.target.value);
    setWorn(event.target.value);
  };
  const leave = (/** @type {any} */ event) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false);
  return html`<div class="appearance" onFocusOut=${leave} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && setOpen(false)}>
    <button type="button" class="icon-button" aria-label=${t("frame.appearance")} title=${t("frame.appearance")} aria-expanded=${String(open)}
      onClick=${() => setOpen(!open)}><${Icon} name="theme" /></button>
    ${open && html`<div class="sheet-below stack" tabindex="-1">
      <fieldset class="stack"><legend>${t("frame.theme")}</legend>
        ${THEMES.map((one) => html`<label class="row" key=${one}><input type="radio" name="theme" value=${one} checked=${worn === one} onChange=${dress} />${t(`frame.theme_${one}`)}</label>`)}
      </fieldset>
      <label>${t("frame.language")}
        <select value=${language} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
          ${Object.entries(LANGUAGES).map(([name, said]) => html`<option key=${name} value=${name} lang=${name}>${said}</option>`)}
        </select></label>
    </div>`}
  </div>`;
}

/** @param {Event} event */
function toMain(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
