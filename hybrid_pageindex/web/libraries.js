// Libraries as they are now: what is in them, and what is still to be indexed.
import { useAnswer } from "./answers.js";
import { get } from "./api.js";
import { followJobs } from "./feed.js";
import { useEffect, useRef } from "./ui.js";

const SOON = 400, SELDOM = 5000; // ms in which what happens is looked at together: to counts, to what is shown

/** The event that a library is gone or called otherwise; its detail is the name, "" for all. */
export const GONE = "library-gone";

/** What was seen of a library is not shown again. @param {string} [name] "" for all */
export const renounce = (name = "") => void dispatchEvent(new CustomEvent(GONE, { detail: name }));

/** @type {any[]} */
const NONE = [];

/** @returns {any[]} */
export function useLibraries() {
  const { answer, look } = useAnswer((signal) => get("/libraries", signal), []); // the frame says that the server is away
  useEffect(() => {
    let timer = 0;
    const stop = followJobs((kind) => {
      if (kind === "progress" || timer) return;
      timer = setTimeout(() => { timer = 0; look(); }, SOON);
    });
    return () => (clearTimeout(timer), stop());
  }, []);
  return answer ?? NONE;
}

/** Differs when documents came, changed or went. @param {any[]} libraries */
export const stateOf = (libraries) => libraries.map((one) => `${one.documents} ${one.changed_at}`).join("\n");

/**
 * Calls when these libraries or documents of them came, changed or went since they were last looked for: at once, then seldom.
 * @param {any[]} about @param {string} scope where is looked, as it was chosen: another one is no change
 * @param {boolean} looking whether they are looked for now @param {() => void} changed
 */
export function useChanges(about, scope, looking, changed) {
  const names = about.map((one) => one.name).join("\n");
  const state = stateOf(about);
  const before = useRef({ names, scope, state }), told = useRef(0), tell = useRef(changed);
  tell.current = changed;
  useEffect(() => void (looking && (before.current = { names, scope, state })), [looking]);
  useEffect(() => {
    const { names: asked, scope: chosen, state: seen } = before.current;
    if (!asked || chosen !== scope) before.current = { names, scope, state }; // nothing was known yet
    if (!asked || chosen !== scope || (asked === names && seen === state)) return;
    const timer = setTimeout(() => {
      before.current = { names, scope, state };
      told.current = Date.now();
      tell.current();
    }, Math.max(0, told.current + SELDOM - Date.now()));
    return () => clearTimeout(timer);
  }, [names, scope, state, looking]);
}
