import { t } from "../../i18n.js";
import { html } from "../../ui.js";
import { IconButton } from "../viewer/Icons.js";

/** The way from one branch to the next, where a question was edited or an answer made again. */
export function Branches({ message, onBranch }) {
  const all = message.siblings || [], here = all.indexOf(message.id);
  if (all.length < 2) return null;
  return html`<span class="branches">
    <${IconButton} icon="back" label=${t("conversation.branch_before")} disabled=${here <= 0} onClick=${() => onBranch(all[here - 1])} />
    <span>${t("conversation.branch", { at: here + 1, count: all.length })}</span>
    <${IconButton} icon="next" label=${t("conversation.branch_after")} disabled=${here >= all.length - 1} onClick=${() => onBranch(all[here + 1])} />
  </span>`;
}
