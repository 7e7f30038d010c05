// What a first start shows: an invented company's report, and questions that it answers at once.
import { t } from "../../i18n.js";
import { html } from "../../ui.js";
import { searchLink } from "../search/asking.js";

/** @param {{ library: any, questions: string[] }} props */
export function Sample({ library, questions }) {
  const ready = library.documents > 0;
  return html`<section class="sample card" aria-label=${t("home.sample")}>
    <h2>${t("home.sample")}</h2>
    <p class="muted">${t("home.sample_more")}</p>
    <ul>${questions.map((one) => html`<li key=${one}>${ready
      ? html`<a class="sample-question" href=${searchLink({ q: one, library: library.name })}>${one}</a>`
      : html`<span class="sample-question muted">${one}</span>`}</li>`)}</ul>
    <p class="small muted" role="status">${ready ? "" : t(library.failed ? "home.sample_failed" : "home.sample_soon")}</p>
  </section>`;
}
