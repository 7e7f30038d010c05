// What is being indexed, waits or failed, and what can be done about it.
import { follow, get, post, query } from "../api.js";
import { t } from "../i18n.js";
import { html, useEffect, useState } from "../ui.js";

/** @param {any} job @returns {string[]} */
function actions(job) {
  if (job.status === "failed" || job.status === "cancelled") return ["retry", "forget"];
  return job.status === "done" ? [] : [job.paused ? "resume" : "pause", "cancel"];
}

/** @param {{ library?: string, changed: number, ended: boolean }} props `ended`: also what is done or cancelled */
export function JobList({ library, changed, ended }) {
  const [jobs, setJobs] = useState(/** @type {any[] | null} */ (null));
  const [wrong, setWrong] = useState("");
  const [decided, setDecided] = useState(0);
  const status = ended ? [] : ["waiting", "running", "failed"];
  useEffect(() => void get("/jobs" + query({ library, status })).then((one) => setJobs(one.jobs), (error) => setWrong(error.message)),
    [library, changed, decided]);
  const decide = async (/** @type {number} */ job, /** @type {string} */ action) => {
    await post(`/jobs/${job}/${action}`).catch((error) => setWrong(error.message));
    setDecided((now) => now + 1);
  };
  return html`<div class="stack">
    ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
    ${ended && jobs?.length === 0 && html`<p class="muted">${t("jobs.empty")}</p>`}
    <ul class="stack">${(jobs ?? []).map((job) => html`<li key=${job.id} class="card row">
      <span class="grow">${job.subject.replace(/^upload:\//, "")}
        <span class="muted small"> ${job.state}${job.total > 0 && job.status === "running" ? ` ${job.done}/${job.total}` : ""}</span>
        ${job.cause && html`<span class="bad small"> ${job.cause}</span>`}</span>
      ${actions(job).map((one) => html`<button key=${one} onClick=${() => decide(job.id, one)}>${t(`jobs.${one}`)}</button>`)}
    </li>`)}</ul>
  </div>`;
}

export function Jobs() {
  const [changed, setChanged] = useState(0);
  useEffect(() => follow("/jobs/events", () => setChanged((now) => now + 1)), []);
  return html`<div class="view stack"><h1>${t("frame.jobs")}</h1><${JobList} changed=${changed} ended=${true} /></div>`;
}
