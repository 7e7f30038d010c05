// What happens to jobs and libraries, heard by one tab for all: a stream holds a connection, and a browser has six of HTTP/1.1.
import { follow, reach, whenOnline } from "./api.js";
import { useEffect, useRef } from "./ui.js";

/** @typedef {(kind: string, data: any) => void} Tell */

const NAME = "pageindex jobs", LINGER = 1000; // ms: the view that comes next listens as well
const SOON = 400, SELDOM = 5000; // ms until a view looks again, and between two looks
const ASKED = 200, BEAT = 1000, PATIENCE = 4000; // ms: to hear of a leader, between two signs of one, until one is gone
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

/** The tab that is chosen streams, and tells the others. */
function join() {
  if (joined || !listeners.size || document.visibilityState === "hidden") return;
  const mine = (joined = new AbortController()), { signal } = mine;
  const over = () => void (joined === mine && leave());
  if (!globalThis.BroadcastChannel) return void stream(signal, tell).then(over);
  const tabs = new BroadcastChannel(NAME);
  tabs.onmessage = ({ data: [kind, data] }) => (kind === "away" ? reach(false) : tell(kind, data));
  signal.addEventListener("abort", () => tabs.close());
  /** @param {AbortSignal} leads */
  const lead = async (leads) => {
    const unheard = whenOnline((online) => void (online || leads.aborted || tabs.postMessage(["away"])));
    await stream(leads, (kind, data) => {
      tabs.postMessage([kind, kind === "state" ? null : data]);
      tell(kind, data);
    });
    unheard();
  };
  if (navigator.locks) { // they may be forbidden
    const led = navigator.locks.request(NAME, { signal }, () => lead(signal));
    led.catch(() => (signal.aborted ? null : stream(signal, tell))).then(over);
  } else elect(signal, lead, over);
}

/**
 * Where there are no locks (http, not on localhost): who leads says so again and again, and who hears nobody leads. Of two
 * that lead, the one with the smaller number goes on. @param {AbortSignal} signal
 * @param {(leads: AbortSignal) => Promise<void>} lead @param {() => void} over what is done where it ends by itself
 */
function elect(signal, lead, over) {
  const tabs = new BroadcastChannel(`${NAME} leader`), me = Math.random();
  /** @type {AbortController | null} */
  let leading = null;
  let timer = 0;
  /** @param {string} kind */
  const say = (kind) => tabs.postMessage([kind, me]);
  /** @param {number} ms */
  const wait = (ms) => (clearTimeout(timer), (timer = setTimeout(begin, ms * (1 + Math.random() / 4))));
  const beat = () => (say("lead"), (timer = setTimeout(beat, BEAT)));
  function begin() {
    const mine = (leading = new AbortController());
    beat();
    lead(mine.signal).then(() => void (leading === mine && over()));
  }
  function yieldTo() {
    const mine = leading;
    leading = null;
    mine?.abort();
    wait(PATIENCE);
  }
  tabs.onmessage = ({ data: [kind, other] }) => {
    if (kind === "ask") leading && say("lead");
    else if (kind === "gone") leading || wait(ASKED);
    else if (!leading) wait(PATIENCE);
    else if (other < me) yieldTo();
    else say("lead");
  };
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    if (leading) say("gone");
    tabs.close();
    leading?.abort();
    leading = null;
  });
  say("ask");
  wait(ASKED);
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
 * Hear what happens to jobs of all libraries. 'changed': a library (`library` is its id, "" for all) came, changed or went;
 * 'state': much may have. @param {Tell} listener
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

/**
 * Whether libraries or documents may have changed. A stream begins with a state: what changed since a view looked, and
 * before the stream began, is told by nothing else. @param {string} kind
 */
export const isNews = (kind) => kind === "changed" || kind === "state";

/** Look again where libraries or documents changed, or this tab was away for a while. @param {() => unknown} look */
export function useNews(look) {
  const newest = useRef(look);
  newest.current = look;
  useEffect(() => {
    let timer = 0, last = 0;
    const stop = followJobs((kind) => {
      if (timer || !isNews(kind)) return;
      timer = setTimeout(() => {
        timer = 0;
        last = Date.now();
        newest.current();
      }, Math.max(SOON, last + SELDOM - Date.now()));
    });
    return () => (clearTimeout(timer), stop());
  }, []);
}
