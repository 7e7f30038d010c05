// All libraries: what they hold, a new one, and a search over all.
import { ago } from "../i18n.js";
import { get, post } from "../api.js";
import { t } from "../i18n.js";
import { go, link } from "../router.js";
import { html, useEffect, useState } from "../ui.js";
import { Search } from "./Search.js";

export function Home() {
  const [libraries, setLibraries] = useState(/** @type {any[] | null} */ (null));
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState("");
  useEffect(() => void get("/libraries").then(setLibraries, (error) => setWrong(error.message)), []);
  const create = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await post("/libraries", { name });
      go(link(["library", name]));
    } catch (error) {
      setWrong(/** @type {Error} */ (error).message);
    }
  };
  return html`<div class="view stack">
    <h1>${t("frame.home")}</h1>
    <${Search} />
    ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
    ${libraries?.length === 0 && html`<p class="muted">${t("home.empty")}</p>`}
    <ul class="cards" aria-busy=${libraries === null}>
      ${(libraries ?? []).map((one) => html`<li key=${one.id} class="card">
        <h2><a href=${link(["library", one.name])}>${one.alias || one.name}</a></h2>
        <p class="muted">${t("home.size", { documents: one.documents, pages: one.pages })} ${ago(one.used_at)}</p>
        ${(one.waiting || one.failed) ? html`<p class="warn">${t("home.jobs", { waiting: one.waiting, failed: one.failed })}</p>` : null}
      </li>`)}
    </ul>
    <form class="row" onSubmit=${create}>
      <label class="row">${t("home.new")}
        <input value=${name} required maxlength="200" onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>
      <button>${t("home.create")}</button>
    </form>
  </div>`;
}
