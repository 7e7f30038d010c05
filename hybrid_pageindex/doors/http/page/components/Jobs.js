// What is being indexed, waits or has ended, in all libraries, and what can be done about it.
import { get, post } from "../api.js";
import { followJobs } from "../feed.js";
import { t } from "../i18n.js";
import { useRights } from "../rights.js";
import { html, useCallback, useEffect, useState } from "../ui.js";
import { JobLine } from "./jobs/JobLine.js";
import { useSeldom } from "./library/documents.js";

export function Jobs() {
  const [jobs, setJobs] = useState(/** @type {any[] | null} */ (null));
  const [wrong, setWrong] = useState(""), [away, setAway] = useState("");
  const [ids, setIds] = useState(/** @type {Map<string, string>} */ (new Map()));
  const may = useRights();
  const load = useCallback(async () => {
    await Promise.all([get("/jobs"), get("/libraries")]).then(([one, libraries]) => {
      setIds(new Map(libraries.map((/** @type {any} */ library) => [library.name, library.id])));
      setJobs(one.jobs);
      setAway("");
    }, (error) => setAway(error.message));
  }, []);
  const again = useSeldom(load, 400);
  useEffect(() => void load(), [load]);
  useEffect(() => followJobs(again), [again]);
  const decide = async (/** @type {string} */ action, /** @type {any} */ job) => {
    setWrong("");
    await post(`/jobs/${job.id}/${action}`).catch((error) => setWrong(error.message));
    load();
  };
  return html`<div class="view stack"><h1>${t("frame.jobs")}</h1>
    ${(wrong || away) && html`<p class="bad" role="alert">${wrong || away}</p>`}
    ${!jobs && !away && html`<div class="card waiting-card" aria-busy="true" />`}
    ${jobs?.length === 0 && html`<p class="muted">${t("jobs.empty")}</p>`}
    ${jobs && jobs.length > 0 && html`<ul class="work-list card">${jobs.map((job) => html`<${JobLine} key=${job.id} job=${job} decide=${decide} may=${may("write", ids.get(job.library))} />`)}</ul>`}
  </div>`;
}
