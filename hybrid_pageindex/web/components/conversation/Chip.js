import { t } from "../../i18n.js";
import { html, useEffect, useRef, useState } from "../../ui.js";

const WAIT = 150, WIDE = 380, EDGE = 8; // ms until the lines show; px

/** What a source is called: its title, or its file's name. @param {any} citation */
export const sourceName = (citation) => citation.doc_title || citation.doc_name;

/** The cited lines without the marks of Markdown's headings. @param {any} citation */
export const quoteOf = (citation) => citation.quote.replace(/(^|\s)#{1,6}\s+/g, "$1");

/** A citation: who points at it sees its lines, who presses it opens their place beside the conversation. */
export function Chip({ citation, chosen, onOpen }) {
  const [near, setNear] = useState(false);
  const button = useRef(/** @type {any} */ (null));
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const show = () => void (timer.current = setTimeout(() => setNear(true), WAIT));
  const hide = () => {
    clearTimeout(timer.current);
    setNear(false);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && near && (event.stopPropagation(), hide());
  const name = t("conversation.source", { number: citation.number, name: sourceName(citation), page: citation.page });
  const state = citation.state === "current" ? "" : ` (${t(`conversation.${citation.state}`)})`;
  return html`<span class="chip-place" onMouseEnter=${show} onMouseLeave=${hide} onFocusIn=${show} onFocusOut=${hide} onKeyDown=${keys}>
    <button type="button" ref=${button} class=${`chip ${citation.state}`} aria-label=${name + state} aria-pressed=${String(chosen)}
      onClick=${() => onOpen(citation)}>${citation.number}</button>
    ${near && html`<${Preview} citation=${citation} state=${state} at=${button.current} />`}</span>`;
}

/** The cited lines, below the citation or above it, wherever they fit. */
function Preview({ citation, state, at }) {
  const box = useRef(/** @type {any} */ (null));
  useEffect(() => {
    const { left, top, bottom } = at.getBoundingClientRect(), { style, offsetHeight: high, offsetWidth: wide } = box.current;
    style.left = `${Math.max(EDGE, Math.min(left, innerWidth - wide - EDGE))}px`;
    style.top = `${bottom + high + EDGE < innerHeight ? bottom + 4 : Math.max(EDGE, top - high - 4)}px`;
    style.visibility = "visible";
  }, []);
  const path = citation.section_path.join(" › ");
  return html`<span class="preview" role="tooltip" ref=${box} style=${{ maxWidth: `min(${WIDE}px, calc(100vw - ${2 * EDGE}px))` }}>
    <b>${sourceName(citation)}</b> <span class="where">${t("conversation.page_of", { page: citation.page })}${state}</span>
    ${path && path !== sourceName(citation) && html`<span class="path">${path}</span>`}<span class="quote">${quoteOf(citation)}</span></span>`;
}
