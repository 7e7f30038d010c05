// Answers of the server in a view: the latest one is shown, in whatever order they come, and none after the view has gone.
import { useCallback, useEffect, useRef, useState } from "./ui.js";

/** @typedef {{ answer: any, wrong: any }} Heard `wrong` is the error of the latest question; `answer` stays beside it */
/** @type {Heard} */
const NOTHING = { answer: null, wrong: null };

/**
 * Ask the server, again when `on` differs or `look` is called. What was asked for an earlier `on` is given up. Looks never
 * overtake each other: one that is called while another is on its way follows it.
 * @param {(signal: AbortSignal) => Promise<any>} ask @param {unknown[]} on
 * @param {{ wait?: number, fresh?: boolean, skip?: boolean }} [more] `wait`: ms until something typed is asked for;
 *   `fresh`: no answer for an earlier `on` is shown meanwhile; `skip`: nothing is asked for now
 * @returns {Heard & { look: () => Promise<void>, set: (answer: any) => void,
 *   extend: (ask: (signal: AbortSignal) => Promise<any>, join: (now: any, next: any) => any) => Promise<void> }}
 *   `set` shows an answer that another request brought; `extend` joins what follows to the answer that is shown
 */
export function useAnswer(ask, on, { wait = 0, fresh = false, skip = false } = {}) {
  const [heard, setHeard] = useState(NOTHING);
  const newest = useRef(ask), shown = useRef(heard);
  const run = useRef({ stop: new AbortController(), work: /** @type {Promise<void> | null} */ (null), again: false });
  newest.current = ask;
  const show = useCallback((/** @type {Heard} */ now) => {
    shown.current = now;
    setHeard(now);
  }, []);

  const look = useCallback(() => {
    const now = run.current, { signal } = now.stop;
    now.again = true;
    now.work ??= (async () => {
      while (now.again && !signal.aborted) {
        now.again = false;
        await newest.current(signal).then(
          (answer) => signal.aborted || show({ answer, wrong: null }), (wrong) => signal.aborted || show({ ...shown.current, wrong }));
      }
      now.work = null;
    })();
    return now.work;
  }, []);

  const begin = useCallback(() => {
    run.current.stop.abort();
    run.current = { stop: new AbortController(), work: null, again: false };
    return run.current.stop;
  }, []);

  const set = useCallback((/** @type {any} */ answer) => {
    begin();
    show({ answer, wrong: null });
  }, []);

  const extend = useCallback(async (/** @type {any} */ further, /** @type {any} */ join) => {
    const { signal } = run.current.stop, before = shown.current.answer;
    const same = () => !signal.aborted && shown.current.answer === before; // not twice, nor to another answer
    await further(signal).then(
      (/** @type {any} */ next) => same() && show({ answer: join(before, next), wrong: null }),
      (/** @type {any} */ wrong) => same() && show({ ...shown.current, wrong }));
  }, []);

  useEffect(() => {
    begin();
    if (fresh || skip) show(NOTHING);
    const timer = skip || !wait ? 0 : setTimeout(look, wait);
    if (!skip && !wait) look();
    return () => {
      clearTimeout(timer);
      run.current.stop.abort();
    };
  }, [...on, skip]);
  return { ...heard, look, set, extend };
}

/** What went wrong, in one line. @param {any} error */
export const wordsOf = (error) => (error ? [error.message, error.advice].filter(Boolean).join(" ") : "");
