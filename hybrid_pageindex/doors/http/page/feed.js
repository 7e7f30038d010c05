// What happens to jobs and libraries, heard by one tab for all: a stream holds a connection, and a browser has six of HTTP/1.1.
import { follow, reach, whenOnline } from "./api.js";
import { useEffect, useRef } from "./ui.js";

/** @typedef {(kind: string, data: any) => void} Tell */

const NAME = "pageindex jobs", LINGER = 1000; // ms: the view that comes next listens as well
const SOON = 400, SELDOM = 5000; // ms until a view looks again, and between two looks
/** @type {Set<Tell>} */
const listeners = new Set();
/** @type {Set<Tell>} those for whom nothing is followed */
const caches = new Set();
/** @type {AbortController | null} */
let joined = null;

/** @type {Tell} */
const tell = (kind, data) => [...caches, ...listeners].forEach((one) => one(kind, data));

/** Until it is given up or refused. @param {AbortSignal} signal @param {Tell} heard @returns {Promise<void>} */
const stream = (signal, heard) => new Promise((done) => {
  const stop = follow("/jobs/events", heard, { ended: () => done(), resumed: () => heard("state", null) }); // what changed meanwhile is not told
  signal.addEventListener("abort", () => (stop(), done()));
});

/** The tab that holds the lock streams, and the others wait for it; where there are no locks, each tab that is seen streams. */
function join() {
  if (joined || !listeners.size || document.visibilityState === "hidden") return;
  const mine = (joined = new AbortController()), { signal } = mine;
  const over = () => void (joined === mine && leave());
  if (!navigator.locks || !globalThis.BroadcastChannel) return void stream(signal, tell).then(over); // http, not on localhost
  const tabs = new BroadcastChannel(NAME);
  tabs.onmessage = ({ data: [kind, data] }) => (kind === "away" ? reach(false) : tell(kind, data));
  signal.addEventListener("abort", () => tabs.close());
  navigator.locks.request(NAME, { signal }, async () => {
    const unheard = whenOnline((online) => void (online || tabs.postMessage(["away"])));
    await stream(signal, (kind, data) => {
      tabs.postMessage([kind, kind === "state" ? null : data]);
      tell(kind, data);
    });
    unheard();
  }).catch(() => (signal.aborted ? null : stream(signal, tell))).then(over); // locks may be forbidden
}

function leave() {
  joined?.abort();
  joined = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") return leave();
  join();
  tell("state", null); // something may have happened meanwhile
});

/**
 * Hear what happens to jobs of all libraries. «changed»: a library (`library` is its id, "" for all) came, changed or went;
 * «state»: much may have. @param {Tell} listener
 */
export function followJobs(listener) {
  listeners.add(listener);
  join();
  return () => {
    listeners.delete(listener);
    setTimeout(() => listeners.size || leave(), LINGER);
  };
}

/** Hear what others follow. @param {Tell} listener */
export const overhear = (listener) => void caches.add(listener);

/** Whether libraries or documents may have changed; a state with data is how a stream begins. @param {string} kind @param {any} data */
export const isNews = (kind, data) => kind === "changed" || (kind === "state" && !data);

/** Look again where libraries or documents changed, or this tab was away for a while. @param {() => unknown} look */
export function useNews(look) {
  const newest = useRef(look);
  newest.current = look;
  useEffect(() => {
    let timer = 0, last = 0;
    const stop = followJobs((kind, data) => {
      if (timer || !isNews(kind, data)) return;
      timer = setTimeout(() => {
        timer = 0;
        last = Date.now();
        newest.current();
      }, Math.max(SOON, last + SELDOM - Date.now()));
    });
    return () => (clearTimeout(timer), stop());
  }, []);
}
