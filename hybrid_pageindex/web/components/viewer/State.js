import { html } from "../../ui.js";
import { t } from "../../i18n.js";
import { Icon } from "./Icons.js";

/** What stands in place of a page: it comes, was removed, could not be indexed, or cannot be fetched now. */
export function State({ state, info, error, library, onAgain, onClose }) {
  if (state === "loading") return html`<div class="state" aria-busy="true"><div class="skeleton page" /><span class="visually-hidden" role="status">${t("viewer.loading")}</span></div>`;
  const name = info?.name || t("viewer.this_document");
  const why = { gone: t("viewer.gone", { name }), failed: t("viewer.failed", { name }), error: t("viewer.unreachable") }[state];
  const more = state === "failed" ? info.error : state === "error" ? `${error.message} ${error.advice || ""}` : t("viewer.gone_more");
  return html`<div class="state" role="alert">
    <${Icon} name="warn" /><h1>${why}</h1><p>${more}</p>
    <p class="ways">
      ${state === "error" && html`<button type="button" onClick=${onAgain}>${t("viewer.again")}</button>`}
      ${onClose && html`<button type="button" onClick=${onClose}>${t("viewer.close")}</button>`}
      <a href=${`#/library/${encodeURIComponent(library)}`}>${t("viewer.to_library")}</a>
      ${state === "failed" && html`<a href="#/jobs">${t("viewer.to_jobs")}</a>`}
    </p>
  </div>`;
}
