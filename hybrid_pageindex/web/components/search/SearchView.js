// A question and what answers it: pages by document, and beside them where in the section trees they stand.
import { t } from "../../i18n.js";
import { useChanges, useLibraries } from "../../libraries.js";
import { go, link } from "../../router.js";
import { useScrollPlace } from "../../scrolling.js";
import { remember } from "../../storage.js";
import { noteText } from "../../translation.js";
import { html, useEffect, useMemo, useState } from "../../ui.js";
import { Beginning } from "../briefing/Briefing.js";
import { Box } from "./Box.js";
import { Hit } from "./Hit.js";
import { ScoredOutline } from "./ScoredOutline.js";
import { Scope } from "./Scope.js";
import { Steps, Understood } from "./Understood.js";
import { asked, converse, forget, justTyped, remembered, searchLink } from "./asking.js";
import { outdate, useSearch } from "./finding.js";

const OUTLINES = 3; // documents whose sections are shown
const FITS = 90, FITS_PHONE = 24; // letters of a question that the box shows, on a wide screen and on a phone

/** The documents of a result, best first, with their pages. */
function byDocument(found) {
  /** @type {Map<string, { doc_id: string, doc_name: string, doc_title: string, library: string, hits: any[] }>} */
  const made = new Map();
  for (const hit of found.results) {
    const library = hit.library || found.library, key = `${library}\n${hit.doc_id}`;
    if (!made.has(key)) made.set(key, { doc_id: hit.doc_id, doc_name: hit.doc_name, doc_title: hit.doc_title, library, hits: [] });
    made.get(key)?.hits.push(hit);
  }
  return [...made.values()];
}

/** @param {{ given: URLSearchParams }} props */
export function SearchView({ given }) {
  const one = useMemo(() => asked(given), [String(given)]);
  const [text, setText] = useState(one.q), [told, setTold] = useState(""), [side, setSide] = useState("pages"), [old, setOld] = useState(/** @type {any} */ (null));
  const [typed] = useState(justTyped); // whoever typed the question elsewhere goes on in the box
  const { found, steps, busy, error, again } = useSearch(one, text);
  useEffect(() => setText(one.q), [one.q]);
  useScrollPlace(Boolean(found), given);
  const say = (/** @type {string} */ words) => { setTold(words); setTimeout(() => setTold((before) => (before === words ? "" : before)), 2500); };
  const change = (/** @type {Partial<import("./asking.js").Asked>} */ more) => {
    if (more.effort) remember("effort", more.effort);
    go(searchLink({ ...one, q: text.trim(), ...more }));
  };
  const ask = () => converse({ ...one, q: text.trim() }).catch((failed) => say(`${failed.message} ${failed.advice ?? ""}`));
  useEffect(() => void (one.q && remember("results", location.hash, "session")), [String(given)]);
  const search = () => (text.trim() === one.q ? again() : change({}));
  const documents = found ? byDocument(found) : [], libraries = useLibraries(), about = libraries.filter((library) => !one.library || library.name === one.library);
  const waiting = about.reduce((sum, library) => sum + library.waiting, 0);
  useChanges(about, one.library, busy, () => {
    outdate();
    if (found?.usage.calls) setOld(found); // a model is asked again only by a person: it may cost something
    else if (found) again();
  });
  return html`<div class=${`view search-view side-${side}`}>
    <h1 class="visually-hidden">${t("search.do")}</h1>
    <${Box} text=${text} effort=${one.effort} busy=${busy} focus=${!one.q || typed} onText=${setText} onSearch=${search} onAsk=${ask} onEffort=${(/** @type {string} */ effort) => change({ effort })}>
      <${Scope} libraries=${libraries} library=${one.library} documents=${one.documents} onChoose=${(/** @type {string} */ library, /** @type {string[]} */ those) => change({ library, documents: those })} /><//>
    ${one.q.length > FITS_PHONE && html`<p class=${`whole-question${one.q.length > FITS ? " always" : ""}`}>${one.q}</p>`}
    <p class="visually-hidden" role="status">${busy ? t("search.working") : found ? t("search.found", { n: found.results.length }) : ""}</p>
    ${error && html`<p class="remark bad" role="alert">${error.offline ? t("search.offline") : `${error.message} ${error.advice}`} <button type="button" class="quiet-button" onClick=${again}>${t("viewer.again")}</button></p>`}
    ${waiting > 0 && html`<p class="remark">${t("search.behind", { n: waiting })} <a href=${link(["jobs"])}>${t("viewer.to_jobs")}</a></p>`}
    ${found && old === found && !busy && html`<p class="remark">${t("search.changed")} <button type="button" class="quiet-button" onClick=${again}>${t("search.renew")}</button></p>`}
    ${!one.q && !text.trim() && html`${one.library && html`<${Beginning} library=${one.library} doc=${one.documents.length === 1 ? one.documents[0] : ""} onAsk=${(/** @type {any} */ begun) => go(searchLink({ ...one, q: begun.question }))} />`}
      <${Begin} onAsk=${(/** @type {string} */ q) => go(searchLink({ ...one, q }))} />`}
    ${found && one.q && html`<p class="small"><a href=${link(["count"], { q: one.q, library: one.library })}>${t("count.link")}</a></p>`}
    ${found && html`<div class="sides" role="group" aria-label=${t("search.sides")}>${["pages", "outline"].map((name) => html`<button type="button" key=${name} aria-pressed=${String(side === name)} onClick=${() => setSide(name)}>${t(`search.side_${name}`)}</button>`)}</div>`}
    ${(found || busy) && html`<div class="found" aria-busy=${String(busy)}>
      <div class="hits">
        <${Steps} steps=${busy ? steps : found?.reasoning?.steps ?? []} live=${busy} />
        ${found && !(busy && steps.length) && html`<${Understood} found=${found} one=${one} onEffort=${(/** @type {string} */ effort) => change({ effort })} />`}
        ${!found && busy && html`<${Coming} />`}
        ${found && !found.results.length && html`<div class="nothing"><h2>${t("search.nothing")}</h2><p class="muted">${noteText(found.evidence.hint, found.evidence.hint_code) || t("search.nothing_more")}</p>
          ${(one.library || one.documents.length > 0) && html`<button type="button" onClick=${() => change({ library: "", documents: [] })}>${t("search.everywhere_do")}</button>`}</div>`}
        ${documents.map((doc) => html`<article key=${doc.library + doc.doc_id} class="found-document">
          <h2><span>${doc.doc_title || doc.doc_name}${doc.doc_title && doc.doc_title !== doc.doc_name && html`<small class="muted">${doc.doc_name}</small>`}</span>${libraries.length > 1 && !one.library ? html` <a class="small" href=${link(["library", doc.library])}>${doc.library}</a>` : null}</h2>
          <ol>${doc.hits.map((hit) => html`<${Hit} key=${hit.page} hit=${hit} library=${doc.library} question=${found.query} say=${say} />`)}</ol>
        </article>`)}
      </div>
      ${documents.length > 0 && html`<${ScoredOutline} documents=${documents.slice(0, OUTLINES)} question=${found.query} />`}
    </div>`}
    <p class="toast" role="status">${told}</p>
  </div>`;
}

const Coming = () => html`<div class="coming" aria-hidden="true">${[1, 2, 3].map((one) => html`<div key=${one}><i /><span><i /><i /><i /></span></div>`)}</div>`;

/** Before the first question: what was asked before. */
function Begin({ onAsk }) {
  const [asked, setAsked] = useState(remembered);
  const drop = (/** @type {string} */ one) => { forget(one); setAsked(remembered()); };
  if (!asked.length) return html`<div class="nothing"><h2>${t("search.begin")}</h2><p class="muted">${t("search.begin_more")}</p></div>`;
  return html`<section class="before" aria-labelledby="before"><header class="row"><h2 id="before" class="grow">${t("search.before")}</h2>
      <button type="button" class="quiet small" onClick=${() => { forget(); setAsked([]); }}>${t("search.forget_all")}</button></header>
    <ul>${asked.map((one) => html`<li key=${one} class="row"><button type="button" class="quiet grow" onClick=${() => onAsk(one)}>${one}</button>
      <button type="button" class="quiet small" aria-label=${t("search.forget", { question: one })} onClick=${() => drop(one)}>×</button></li>`)}</ul></section>`;
}
