// The documents of a library as they are now, and what is being made of them.
import { useAnswer } from "../../answers.js";
import { at, get, query } from "../../api.js";
import { followJobs, isNews } from "../../feed.js";
import { GONE } from "../../libraries.js";
import { useCallback, useEffect, useMemo, useRef, useState } from "../../ui.js";

/**
 * @typedef {{ doc_id: string, content_id: string, path: string, name: string, title: string, format: string, pages: number,
 *   size: number, organisation: string, year: number, type: string, tags: string[], warnings: number, error: string,
 *   indexed_at: string, words: string }} Row
 * @typedef {{ id: number, subject: string, status: string, stage: string, state: string, done: number, total: number,
 *   paused: boolean, stalled: boolean, cause: string, reason: string, kind: string, attempts: number }} Job
 * @typedef {{ jobs: Job[], counts: Record<string, number>, paused: string[], workers: object[] }} Work
 */

const SHOWN = 200; // jobs that are listed at once

/** @param {string} text what words are compared by */
export const folded = (text) => text.normalize("NFKC").toLowerCase();

/** @param {{ columns: string[], rows: any[][] }} answer @returns {Row[]} */
function read({ columns, rows }) {
  return rows.map((values) => {
    const row = /** @type {Row} */ (Object.fromEntries(columns.map((name, at) => [name, values[at]])));
    row.words = folded([row.title, row.name, row.path, row.organisation, row.type, row.year || "", ...row.tags].join(" "));
    return row;
  });
}

/**
 * Calls of `work` become one, made a while after the first, and never two at a time: what takes long is asked for seldom.
 * @param {() => Promise<unknown>} work @param {number} wait ms
 */
export function useSeldom(work, wait) {
  const newest = useRef(work);
  newest.current = work;
  const plan = useRef({ timer: 0, busy: false, asked: false });
  useEffect(() => () => clearTimeout(plan.current.timer), []);
  return useCallback(function call() {
    const now = plan.current;
    now.asked = now.busy;
    if (now.busy) return;
    now.busy = true;
    now.timer = setTimeout(async () => {
      const start = performance.now();
      now.asked = false;
      await newest.current();
      now.timer = setTimeout(() => {
        now.busy = false;
        if (now.asked) call();
      }, 3 * (performance.now() - start));
    }, wait);
  }, [wait]);
}

/** What was seen last of each library: shown at once where one comes back to it. @type {Map<string, Row[]>} */
const seen = new Map();
addEventListener(GONE, (/** @type {any} */ { detail: name }) => void (name ? seen.delete(name) : seen.clear()));

/** @param {string} library */
export function useDocuments(library) {
  const [before] = useState(seen.get(library) ?? null);
  const ask = async (/** @type {AbortSignal} */ signal) => {
    try {
      const now = read(await get(at("libraries", library, "rows"), signal));
      seen.set(library, now);
      return now;
    } catch (error) {
      if (!signal.aborted) seen.delete(library);
      throw error;
    }
  };
  const { answer, wrong, look: load } = useAnswer(ask, [library]);
  /** @type {Row[] | null} */
  const rows = answer ?? before;
  const again = useSeldom(load, 700);
  useEffect(() => {
    const looked = () => document.visibilityState === "visible" && again();
    document.addEventListener("visibilitychange", looked);
    return () => document.removeEventListener("visibilitychange", looked);
  }, [again]);
  return { rows, wrong, again, load };
}

/** @param {string} library @param {(kind: string) => void} published something of the library may have changed */
export function useWork(library, published) {
  const [heard, setHeard] = useState(/** @type {any} */ (null)); // progress since the jobs were listed
  const id = useRef("");
  const ask = async (/** @type {AbortSignal} */ signal) => {
    if (!id.current) get(at("libraries", library), signal).then((one) => (id.current = one.id), () => null);
    const asked = query({ library, status: ["waiting", "running", "failed"], limit: SHOWN });
    return get("/jobs" + asked, signal).catch((error) => {
      if (error.status === 404) id.current = ""; // one that gets its name has another; the frame says that the server is away
      throw error;
    });
  };
  const { answer, look: load } = useAnswer(ask, [library]);
  const again = useSeldom(load, 300);
  useEffect(() => setHeard(answer), [answer]);
  const work = /** @type {Work | null} */ (heard ?? answer);
  useEffect(() => {
    return followJobs((kind, data) => {
      if (data?.library && id.current && data.library !== id.current) return;
      if (kind === "progress") return setHeard((/** @type {Work | null} */ now) => now && advanced(now, data));
      again();
      if (["stage", "done", "failed"].includes(kind) || isNews(kind)) published(kind);
    });
  }, [library, load, again, published]);
  return { work, load };
}

/** @param {Work} work @param {any} event @returns {Work} */
function advanced(work, { job, done, total }) {
  const jobs = work.jobs.map((one) => (one.id === job ? { ...one, done, total } : one));
  return { ...work, jobs };
}

/**
 * How many files have been read since nothing waited, and how long the others may take.
 * @param {Work | null} work @returns {{ done: number, total: number, seconds: number }} `seconds` is 0 where nobody can tell
 */
export function useProgress(work) {
  const { waiting = 0, running = 0 } = work?.counts ?? {};
  const left = waiting + running;
  const run = useRef({ total: 0, left: 0, start: 0 });
  const now = run.current;
  if (!left || !now.total) run.current = { total: left, left, start: performance.now() };
  else if (left !== now.left) run.current = { ...now, total: now.total + Math.max(0, left - now.left), left };
  const { total, start } = run.current;
  const done = total - left;
  return { done, total, seconds: done > 1 && left <= 100 * done ? ((performance.now() - start) / 1000 / done) * left : 0 };
}

/** Jobs that wait or run, by the path of their file. @param {Work | null} work */
export const useActive = (work) =>
  useMemo(() => new Map((work?.jobs ?? []).filter((one) => one.status !== "failed").map((one) => [one.subject, one])), [work]);
