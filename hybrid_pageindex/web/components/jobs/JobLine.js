// One job: its file, what it does, how far it is, why it failed, and what can be done about it.
import { t } from "../../i18n.js";
import { noteText } from "../../translation.js";
import { html } from "../../ui.js";
import { Failure } from "./Failure.js";
import { fileOf, working } from "./words.js";

/** @param {any} job @param {boolean} held @returns {string[]} */
function actions(job, held) {
  if (job.status === "failed" || job.status === "cancelled") return ["retry", "forget"];
  return job.status === "done" ? [] : [...(held ? [] : [job.paused ? "resume" : "pause"]), "cancel"];
}

/**
 * @param {{ job: any, decide: (action: string, job: any) => void, may?: boolean, held?: boolean,
 *   mend?: { remove?: () => unknown, unlock?: (password: string) => Promise<unknown> } }} props
 * `held`: all jobs are paused, which no decision about one of them changes; `mend`: what can be done about its document
 */
export function JobLine({ job, decide, may = true, held = false, mend = {} }) {
  const name = job.kind === "index" ? fileOf(job.subject) : t(`jobs.kind_${job.kind}`);
  return html`<li class=${`work-line ${job.status}`}>
    <span class="work-name">${name}</span>
    <span class="work-state">${job.status === "running" && !job.paused && html`<${Progress} done=${job.done} total=${job.total} name=${name} />`}
      <span title=${noteText(job.state, job.state_code)}>${working(job)}</span></span>
    ${job.status === "failed" ? html`<div class="work-why"><${Failure} reason=${job.reason} cause=${noteText(job.cause, job.cause_code)} name=${name}
        remove=${may ? mend.remove : undefined} unlock=${may ? mend.unlock : undefined} /></div>`
      : job.cause && job.status !== "running" && html`<span class=${`work-why ${job.status === "failed" ? "bad" : "muted"}`}>${noteText(job.cause, job.cause_code)}</span>`}
    ${may && html`<span class="work-actions">${actions(job, held).map((one) => html`<button type="button" class="quiet" key=${one}
      aria-label=${`${t(`jobs.${one}`)}: ${name}`} onClick=${() => decide(one, job)}>${t(`jobs.${one}`)}</button>`)}</span>`}
  </li>`;
}

/** @param {{ done: number, total: number, name: string }} props without a total it only shows that something goes on */
export function Progress({ done, total, name }) {
  const known = total ? { value: done, max: total } : {};
  return html`<progress aria-label=${t("jobs.progress", { name })} ...${known}></progress>`;
}
