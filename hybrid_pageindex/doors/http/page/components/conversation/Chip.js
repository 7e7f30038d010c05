import { t } from "../../i18n.js";
import { html } from "../../ui.js";

/** A citation: it opens its place beside the conversation. */
export function Chip({ citation, chosen, onOpen }) {
  const name = t("conversation.source", { number: citation.number, name: citation.doc_name, page: citation.page });
  const state = citation.state === "current" ? "" : ` (${t(`conversation.${citation.state}`)})`;
  return html`<button type="button" class=${`chip ${citation.state}`} aria-label=${name + state} title=${name + state}
    aria-pressed=${String(chosen)} onClick=${() => onOpen(citation)}>${citation.number}</button>`;
}
