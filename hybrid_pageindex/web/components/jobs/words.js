// What a job does, in the words of the page's language.
import { t } from "../../i18n.js";

/** @param {import("../library/documents.js").Job} job */
export function working(job) {
  if (job.status === "running" && job.stalled) return t("jobs.stalled");
  if (job.paused) return t("jobs.paused");
  if (job.status === "waiting") return job.attempts ? t("jobs.again_soon", { n: job.attempts }) : t("jobs.waiting");
  if (job.status !== "running") return t(`jobs.${job.status}`);
  const doing = t(`jobs.stage_${job.stage}`);
  return job.total ? `${doing} ${t("jobs.pages", { done: job.done, total: job.total })}` : doing;
}

/** The name of a job's file, without what says that it was uploaded or fetched. @param {string} subject */
export const fileOf = (subject) => subject.replace(/^(upload|web):\/+/, "");
