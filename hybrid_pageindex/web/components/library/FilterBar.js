// Which documents are shown: by words, by what they are, in which order, and how.
import { number, t } from "../../i18n.js";
import { html, useState } from "../../ui.js";
import { FACETS, SORTS } from "./choosing.js";

export const VIEWS = /** @type {const} */ (["list", "gallery", "folders", "alike"]);

/**
 * @param {{ given: URLSearchParams, set: (changes: Record<string, string | null>) => void, view: string, sort: string,
 *   facets: Record<string, [string, number][]>, varied: string[], views: readonly string[] }} props `varied`: facets that tell documents apart
 */
export function FilterBar({ given, set, view, sort, facets, varied, views }) {
  const [open, setOpen] = useState(false);
  const asked = FACETS.filter((facet) => given.has(facet));
  const value = (/** @type {string} */ facet, /** @type {string} */ one) => (facet === "state" ? t(`library.state_${one}`) : one);
  const sortable = view !== "list";
  return html`<div class=${`filter-bar${open ? " open" : ""}`} role="group" aria-label=${t("library.filters")}>
    <label class="find"><span class="visually-hidden">${t("library.find")}</span>
      <input placeholder=${t("library.find")} value=${given.get("words") ?? ""} onInput=${(/** @type {any} */ event) => set({ words: event.target.value || null })} /></label>
    <button type="button" class="more-filters" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${t("library.filters")}${asked.length ? ` (${asked.length})` : ""}</button>
    <div class="facets">
      ${FACETS.map((facet) => {
        const chosen = given.get(facet);
        const values = facets[facet];
        if (chosen === null && !varied.includes(facet)) return null;
        const all = chosen !== null && !values.some(([one]) => one === chosen) ? [...values, /** @type {[string, number]} */ ([chosen, 0])] : values;
        return html`<select key=${facet} aria-label=${t(`library.by_${facet}`)} class=${chosen === null ? "" : "set"} value=${chosen ?? ""}
          onChange=${(/** @type {any} */ event) => set({ [facet]: event.target.value || null })}>
          <option value="">${t(`library.by_${facet}`)}</option>
          ${all.map(([one, count]) => html`<option key=${one} value=${one}>${value(facet, one)} (${number(count)})</option>`)}
        </select>`;
      })}
      <select class=${sortable ? "order" : "order narrow"} aria-label=${t("library.sort")} value=${sort} onChange=${(/** @type {any} */ event) => set({ sort: event.target.value })}>
        ${SORTS.flatMap((one) => [one, `-${one}`]).map((one) => html`<option key=${one} value=${one}>${t(`library.by_${one.replace("-", "")}`)} ${one.startsWith("-") ? "↓" : "↑"}</option>`)}
      </select>
      ${(asked.length > 0 || given.has("words")) && html`<button type="button" class="quiet" onClick=${() =>
        set({ words: null, ...Object.fromEntries(FACETS.map((one) => [one, null])) })}>${t("library.all_shown")}</button>`}
    </div>
    <div class="shown-as" role="group" aria-label=${t("library.view")}>
      ${views.map((one) => html`<button type="button" key=${one} aria-pressed=${String(one === view)} onClick=${() => set({ view: one })}>${t(`library.view_${one}`)}</button>`)}
    </div>
  </div>`;
}
