// All libraries: what they hold, a search over all, a new one, and files for any of them.
import { get, post } from "../../api.js";
import { followJobs } from "../../feed.js";
import { t } from "../../i18n.js";
import { useRights } from "../../rights.js";
import { html, useCallback, useEffect, useState } from "../../ui.js";
import { DropZone } from "../library/DropZone.js";
import { chosenFiles } from "../library/uploading.js";
import { Search } from "../Search.js";
import { AddFiles } from "./AddFiles.js";
import { LibraryCard } from "./LibraryCard.js";
import { NewLibrary } from "./NewLibrary.js";
import { Sample } from "./Sample.js";

const STEPS = ["add", "search", "ask"];
const SOON = 400; // milliseconds in which what happens to jobs is looked at together

/** @typedef {{ library: string, offered: boolean, questions: string[] }} SampleState */

export function Home() {
  const [libraries, setLibraries] = useState(/** @type {any[] | null} */ (null));
  const [sample, setSample] = useState(/** @type {SampleState | null} */ (null));
  const [wrong, setWrong] = useState(/** @type {any} */ (null));
  const [files, setFiles] = useState(/** @type {import("../library/uploading.js").Named[]} */ ([]));
  const [creating, setCreating] = useState(false);
  const may = useRights();
  const writes = may("write");
  const look = useCallback(async () => {
    try {
      const [found, shown] = await Promise.all([get("/libraries"), get("/sample").catch(() => null)]);
      setLibraries(found);
      setSample(shown);
      setWrong(null);
    } catch (error) {
      setWrong(error);
    }
  }, []);
  useEffect(() => void look(), []);
  useEffect(() => {
    let timer = 0;
    const stop = followJobs(() => {
      clearTimeout(timer);
      timer = setTimeout(look, SOON);
    });
    return () => (clearTimeout(timer), stop());
  }, []);
  useEffect(() => {
    if (writes && sample?.offered) post("/sample").then(look, look); // another window may have been quicker
  }, [writes, sample?.offered]);

  const add = (/** @type {import("../library/uploading.js").Named[]} */ given) => given.length && setFiles(given);
  const picked = (/** @type {any} */ event) => {
    add(chosenFiles(event.target.files));
    event.target.value = "";
  };
  const shown = libraries?.find((one) => one.name === sample?.library);
  return html`<div class="view home stack">
    ${writes && html`<${DropZone} name=${t("home.your_documents")} add=${add} />`}
    <header class="row">
      <h1 class="grow">${t("frame.home")}</h1>
      ${writes && html`<button type="button" onClick=${() => setCreating(true)}>${t("home.new")}</button>
        <label class="button primary">${t("library.add")}<input class="visually-hidden" type="file" multiple onChange=${picked} /></label>`}
    </header>
    <div class="intro"><p>${t("home.intro")}</p>
      ${libraries !== null && !libraries.some((one) => one.documents && one.name !== sample?.library) && html`<ol>${STEPS.map((step) =>
        html`<li key=${step}>${t(`home.step_${step}`)}</li>`)}</ol>`}</div>
    <${Search} />
    ${wrong && html`<div class="notice bad" role="alert"><p>${wrong.offline ? t("frame.offline") : `${wrong.message} ${wrong.advice ?? ""}`}</p>
      <button type="button" onClick=${look}>${t("viewer.again")}</button></div>`}
    ${shown && html`<${Sample} library=${shown} questions=${sample?.questions ?? []} />`}
    ${libraries?.length === 0 && !sample?.offered && html`<div class="no-libraries"><h2>${t("home.empty")}</h2><p class="muted">${t(writes ? "home.empty_how" : "home.empty_read")}</p></div>`}
    ${libraries === null && !wrong && html`<ul class="cards" aria-busy="true">${[0, 1, 2].map((one) => html`<li key=${one} class="card waiting-card" />`)}</ul>`}
    <ul class="cards">${(libraries ?? []).map((one) => html`<${LibraryCard} key=${one.id} library=${one} owns=${may("admin", one.id)} changed=${look} />`)}</ul>
    ${creating && html`<${NewLibrary} onClose=${() => setCreating(false)} />`}
    ${files.length > 0 && html`<${AddFiles} files=${files} libraries=${(libraries ?? []).filter((one) => may("write", one.id))} onClose=${() => setFiles([])} />`}
  </div>`;
}
