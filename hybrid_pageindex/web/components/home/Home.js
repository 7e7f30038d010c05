// All libraries: what they hold, a search over all, a new one, and files for any of them.
import { useAnswer } from "../../answers.js";
import { get, post } from "../../api.js";
import { followJobs } from "../../feed.js";
import { t } from "../../i18n.js";
import { useRights } from "../../rights.js";
import { html, useEffect, useRef, useState } from "../../ui.js";
import { remember, remembered } from "../../storage.js";
import { DropZone } from "../library/DropZone.js";
import { chosenFiles } from "../library/uploading.js";
import { Search } from "../Search.js";
import { AddFiles } from "./AddFiles.js";
import { LibraryCard } from "./LibraryCard.js";
import { NewLibrary } from "./NewLibrary.js";
import { Sample } from "./Sample.js";

const STEPS = ["add", "search", "ask"];
const SOON = 400; // milliseconds in which what happens to jobs is looked at together

export function Home() {
  const { answer: libraries, wrong, look } = useAnswer((signal) => get("/libraries", signal), []);
  const { answer: sample, look: lookForSample } = useAnswer((signal) => get("/sample", signal), []);
  const [files, setFiles] = useState(/** @type {import("../library/uploading.js").Named[]} */ ([]));
  const [creating, setCreating] = useState(false);
  const [novice] = useState(() => !remembered("settled")); // what is shown at a first visit stays while one is here
  const settled = libraries?.some((/** @type {any} */ one) => one.documents && one.name !== sample?.library);
  useEffect(() => void (settled && remember("settled", "1")), [settled]);
  const may = useRights();
  const writes = may("write");
  const shown = libraries?.find((/** @type {any} */ one) => one.name === sample?.library);
  const both = () => (look(), shown || lookForSample()); // the sample may be called otherwise now
  useEffect(() => {
    let timer = 0;
    const stop = followJobs((kind) => {
      if (kind === "progress" || timer) return;
      timer = setTimeout(() => { timer = 0; newest.current(); }, SOON);
    });
    return () => (clearTimeout(timer), stop());
  }, []);
  const newest = useRef(both);
  newest.current = both;
  useEffect(() => {
    if (writes && sample?.offered) post("/sample").then(both, both); // another window may have been quicker
  }, [writes, sample?.offered]);

  const add = (/** @type {import("../library/uploading.js").Named[]} */ given) => given.length && setFiles(given);
  const picked = (/** @type {any} */ event) => {
    add(chosenFiles(event.target.files));
    event.target.value = "";
  };
  return html`<div class="view home stack">
    ${writes && html`<${DropZone} name=${t("home.your_documents")} add=${add} />`}
    <header class="row">
      <h1 class="grow">${t("frame.home")}</h1>
      ${writes && html`<button type="button" onClick=${() => setCreating(true)}>${t("home.new")}</button>
        <label class="button primary">${t("library.add")}<input class="visually-hidden" type="file" multiple onChange=${picked} /></label>`}
    </header>
    <div class="intro"><p>${t("home.intro")}</p>
      ${novice && html`<ol>${STEPS.map((step) =>
        html`<li key=${step}>${t(`home.step_${step}`)}</li>`)}</ol>`}</div>
    <${Search} />
    ${wrong && html`<div class="notice bad" role="alert"><p>${wrong.offline ? t("frame.offline") : `${wrong.message} ${wrong.advice ?? ""}`}</p>
      <button type="button" onClick=${look}>${t("viewer.again")}</button></div>`}
    ${shown && html`<${Sample} library=${shown} questions=${sample?.questions ?? []} />`}
    ${libraries?.length === 0 && !sample?.offered && html`<div class="no-libraries"><h2>${t("home.empty")}</h2><p class="muted">${t(writes ? "home.empty_how" : "home.empty_read")}</p></div>`}
    ${libraries === null && !wrong && html`<ul class="cards" aria-busy="true">${[0, 1, 2].map((one) => html`<li key=${one} class="card waiting-card" />`)}</ul>`}
    <ul class="cards">${(libraries ?? []).map((/** @type {any} */ one) => html`<${LibraryCard} key=${one.id} library=${one} owns=${may("admin", one.id)} changed=${both} />`)}</ul>
    ${creating && html`<${NewLibrary} onClose=${() => setCreating(false)} />`}
    ${files.length > 0 && html`<${AddFiles} files=${files} libraries=${(libraries ?? []).filter((/** @type {any} */ one) => may("write", one.id))} onClose=${() => setFiles([])} />`}
  </div>`;
}
