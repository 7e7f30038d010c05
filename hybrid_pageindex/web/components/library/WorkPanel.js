// What is on its way into a library: files that are being sent, and jobs; what failed says why and can be tried again.
import { change, get, post, query } from "../../api.js";
import { bytes, span, t } from "../../i18n.js";
import { link } from "../../router.js";
import { html, useState } from "../../ui.js";
import { JobLine, Progress } from "../jobs/JobLine.js";
import { offerUndo } from "../Undo.js";
import { documentPath } from "../viewer/addresses.js";

const MOST = 1000; // jobs that are looked through
const SHOWN = 100; // files that are listed while they wait to be sent

/** @param {{ library: string, rows: import("./documents.js").Row[], uploads: any, work: import("./documents.js").Work | null, progress: { done: number, total: number, seconds: number }, may: boolean, changed: () => void }} props */
export function WorkPanel({ library, rows, uploads, work, progress, may, changed }) {
  const [wrong, setWrong] = useState("");
  const jobs = work?.jobs ?? [];
  const { waiting = 0, running = 0, failed = 0 } = work?.counts ?? {};
  const decide = async (/** @type {string} */ action, /** @type {any} */ job) => {
    setWrong("");
    await post(job ? `/jobs/${job.id}/${action}` : `/jobs/${action}`, job ? undefined : { library }).catch((error) => setWrong(error.message));
    changed();
  };
  const paused = Boolean(work?.paused.some((one) => one === `library ${library}` || one === "everything"));
  const failures = jobs.filter((one) => one.status === "failed").map((one) => one.id);
  const some = async (/** @type {string} */ action) => {
    setWrong("");
    await post(`/jobs/${action}`, { jobs: failures }).catch((error) => setWrong(error.message));
    changed();
  };
  const mend = (/** @type {any} */ job) => {
    const row = job.status === "failed" && rows.find((each) => each.path === job.subject);
    if (!row) return {};
    const path = documentPath(library, row.doc_id);
    const forget = async () => { // of the server, not of what is shown: a try that failed a moment ago is not listed yet
      const { jobs: failed } = await get("/jobs" + query({ library, status: ["failed"], limit: MOST }));
      await post("/jobs/forget", { jobs: failed.filter((each) => each.subject === job.subject).map((each) => each.id) });
    };
    const settle = () => forget().catch(() => null).then(changed);
    return {
      unlock: (/** @type {string} */ password) => post(`${path}/unlock`, { password }).then(settle),
      remove: () => change("DELETE", path).then(({ bin }) => {
        offerUndo(t("bin.document_removed", { name: row.name }), [bin]);
        return settle();
      }, (error) => setWrong(error.message)),
    };
  };
  const newest = new Map(jobs.filter((job) => job.status === "failed").sort((one, other) => one.id - other.id).map((job) => [job.subject, job.id]));
  const listed = jobs.filter((job) => job.status !== "failed" || newest.get(job.subject) === job.id); // one line a file
  const unread = rows.filter((row) => row.error).length;
  const unshown = waiting + running + failed - jobs.length;
  return html`<section class="card work" aria-label=${t("library.work")}>
    <div class="row"><h2 class="grow">${t("library.work")}</h2>
      ${may && waiting + running > 0 && html`<button type="button" onClick=${() => decide(paused ? "resume" : "pause", null)}>
        ${t(paused ? "library.resume_all" : "library.pause_all")}</button>`}
      ${may && failures.length > 1 && html`<button type="button" onClick=${() => some("retry")}>${t("library.retry_failed", { n: failures.length })}</button>
        <button type="button" onClick=${() => some("forget")}>${t("library.forget_failed")}</button>`}
    </div>
    ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
    ${work && work.workers.length === 0 && waiting > 0 && html`<p class="warn">${t("library.no_worker")}</p>`}
    <p class="muted small" role="status">${totals(uploads, progress)}</p>
    ${!uploads.items.length && !jobs.length && html`<p class="muted">${t("library.no_work")}
      ${unread > 0 && html` <a href=${link(["library", library], { state: "failed" })}>${t("library.not_read", { n: unread })}</a>`}</p>`}
    <ul class="work-list">
      ${uploads.items.slice(0, SHOWN).map((/** @type {any} */ one) => html`<${SendingLine} key=${`u${one.id}`} one=${one} uploads=${uploads} />`)}
      ${uploads.items.length > SHOWN && html`<li class="muted small">${t("library.more_files", { n: uploads.items.length - SHOWN })}</li>`}
      ${listed.map((job) => html`<${JobLine} key=${job.status === "failed" ? job.subject : job.id} job=${job} decide=${decide} may=${may} held=${paused} mend=${mend(job)} />`)}
      ${unshown > 0 && html`<li class="muted small">${t("library.more_files", { n: unshown })}</li>`}
    </ul>
  </section>`;
}

/** How far it is with all files together, where there are several. @param {any} uploads @param {{ done: number, total: number, seconds: number }} progress */
function totals(uploads, { done, total, seconds }) {
  const sending = uploads.items.length && uploads.total > 1;
  return [
    sending && t("library.sent_of", { done: uploads.total - uploads.items.length, total: uploads.total }),
    total > 1 && t("library.read_of", { done, total }), seconds > 0 && t("library.time_left", { time: span(seconds) }),
  ].filter(Boolean).join(" · ");
}

function SendingLine({ one, uploads }) {
  const { id, name, state, sent, file, unread, web, why } = one;
  return html`<li class=${`work-line ${state}`}>
    <span class="work-name">${name}</span>
    <span class="work-state">${state === "sending" && html`<${Progress} done=${sent} total=${web ? 0 : file.size || 1} name=${name} />`}
      ${web ? t(`web.${state}`) : state === "sending" ? t("library.sending", { sent: bytes(sent), size: bytes(file.size) }) : t(`library.upload_${state}`)}</span>
    ${why && html`<span class="work-why bad">${why}</span>`}
    <span class="work-actions">
      ${state === "failed" && !unread && html`<button type="button" class="quiet" aria-label=${`${t("jobs.retry")}: ${name}`} onClick=${() => uploads.retry(id)}>${t("jobs.retry")}</button>`}
      <button type="button" class="quiet" aria-label=${`${t("jobs.cancel")}: ${name}`} onClick=${() => uploads.cancel(id)}>${t("jobs.cancel")}</button></span>
  </li>`;
}

/** What waits and failed, in a few words: opens what is behind it. */
export function WorkChip({ uploads, work, open, turn }) {
  const { waiting = 0, running = 0, failed = 0 } = work?.counts ?? {};
  const sending = uploads.items.filter((/** @type {any} */ one) => one.state !== "failed").length;
  const unsent = uploads.items.length - sending;
  const told = [
    sending && t("library.chip_sending", { n: sending }), running && t("library.chip_running", { n: running }),
    waiting && t("library.chip_waiting", { n: waiting }), failed + unsent && t("library.chip_failed", { n: failed + unsent }),
  ].filter(Boolean);
  if (!told.length && !open) return null;
  return html`<button type="button" class=${`work-chip${failed + unsent ? " failed" : ""}`} aria-expanded=${String(open)} onClick=${turn}>
    ${running + sending > 0 && html`<span class="spinner" aria-hidden="true"></span>`}${told.join(", ") || t("library.chip_none")}</button>`;
}
