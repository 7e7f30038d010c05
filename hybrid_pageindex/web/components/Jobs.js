// What is being indexed, waits or has ended, in all libraries, and what can be done about it.
import { useAnswer } from "../answers.js";
import { get, post } from "../api.js";
import { followJobs } from "../feed.js";
import { t } from "../i18n.js";
import { useRights } from "../rights.js";
import { html, useEffect, useState } from "../ui.js";
import { JobLine } from "./jobs/JobLine.js";
import { useSeldom } from "./library/documents.js";

export function Jobs() {
  const [wrong, setWrong] = useState("");
  const { answer, wrong: away, look: load } = useAnswer((signal) => Promise.all([get("/jobs", signal), get("/libraries", signal)]), []);
  const jobs = answer?.[0].jobs, ids = new Map((answer?.[1] ?? []).map((/** @type {any} */ library) => [library.name, library.id]));
  const may = useRights();
  const again = useSeldom(load, 400);
  useEffect(() => followJobs(again), [again]);
  const decide = async (/** @type {string} */ action, /** @type {any} */ job) => {
    setWrong("");
    await post(`/jobs/${job.id}/${action}`).catch((error) => setWrong(error.message));
    load();
  };
  return html`<div class="view stack"><h1>${t("frame.jobs")}</h1>
    ${(wrong || away) && html`<p class="bad" role="alert">${wrong || away.message}</p>`}
    ${!jobs && !away && html`<div class="card waiting-card" aria-busy="true" />`}
    ${jobs?.length === 0 && html`<p class="muted">${t("jobs.empty")}</p>`}
    ${jobs && jobs.length > 0 && html`<ul class="work-list card">${jobs.map((/** @type {any} */ job) => html`<${JobLine} key=${job.id} job=${job} decide=${decide} may=${may("write", ids.get(job.library))} />`)}</ul>`}
  </div>`;
}
