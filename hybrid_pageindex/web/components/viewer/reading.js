import { useEffect, useRef, useState } from "../../ui.js";
import { get, getAgain, query } from "../../api.js";

/** What is known of a document, asked again when the person comes back to the page: somebody may have changed it.
 * `newer` is the document as it is now, where that is another content than what is shown. */
export function useDocument(base) {
  const [held, setHeld] = useState(/** @type {{ state: string, info?: any, newer?: any, error?: any }} */ ({ state: "loading" }));
  const newest = useRef(0);
  const look = async (fresh) => {
    const mine = (newest.current += 1);
    try {
      const info = await get(base);
      if (mine !== newest.current) return; // a later look tells more
      setHeld((before) => {
        if (!fresh && before.info && before.info.content_id !== info.content_id) return { ...before, state: "ready", newer: info };
        if (!fresh && before.state === "ready" && before.info?.content_id === info.content_id) return before;
        return { state: info.published ? "ready" : "failed", info };
      });
    } catch (/** @type {any} */ error) {
      if (mine !== newest.current) return;
      setHeld((before) => ({ ...before, state: error.status === 404 ? "gone" : before.info ? before.state : "error", error }));
    }
  };
  useEffect(() => {
    setHeld({ state: "loading" });
    look(true);
    const back = () => document.visibilityState === "visible" && look(false);
    addEventListener("focus", back);
    addEventListener("online", back);
    document.addEventListener("visibilitychange", back);
    return () => {
      newest.current += 1;
      removeEventListener("focus", back);
      removeEventListener("online", back);
      document.removeEventListener("visibilitychange", back);
    };
  }, [base]);
  return { ...held, look };
}

const KEPT = 60; // pages
const UNREAD = { read: null, layout: null, failed: null };

/** @typedef {{ read: any, layout: any, failed: any }} Page */

/** The texts and the layouts of the pages that are near; those of the last ones are kept.
 * @param {string} base @param {any} info @param {number[]} numbers the first one is asked for first
 * @returns {(number: number) => Page} */
export function usePages(base, info, numbers) {
  const pages = useRef(/** @type {Map<string, Page>} */ (new Map())), [, redraw] = useState(0), stop = useRef(new AbortController());
  const keyOf = (/** @type {number} */ number) => `${base} ${info?.content_id} ${number}`;
  useEffect(() => () => stop.current.abort(), []);
  useEffect(() => {
    if (!info?.published) return;
    const kept = pages.current, { signal } = stop.current;
    for (const number of numbers) {
      const key = keyOf(number), held = kept.get(key) ?? { read: null, layout: null, failed: null };
      const begun = kept.delete(key); // the last ones that were near stay
      kept.set(key, held);
      if (kept.size > KEPT) kept.delete(kept.keys().next().value ?? "");
      if (begun) continue;
      const came = (/** @type {keyof Page} */ name) => (/** @type {any} */ value) => {
        held[name] = value;
        redraw((times) => times + 1);
      };
      getAgain(`${base}/pages/${number}`, signal).then(came("read"), came("failed"));
      getAgain(`${base}/pages/${number}/layout`, signal).then(came("layout"), () => came("layout")({ width: 0, height: 0, words: [], figures: [], tables: [] }));
    }
  }, [base, info?.content_id, numbers.join()]);
  return (number) => pages.current.get(keyOf(number)) ?? UNREAD;
}

/** Where quoted words stand on a page, as the server finds them; null where they do not. */
export function useQuote(base, number, quote, ready) {
  const [boxes, setBoxes] = useState(/** @type {number[][] | null} */ ([]));
  useEffect(() => {
    setBoxes([]);
    if (!ready || !quote) return;
    const stop = new AbortController(), here = () => !stop.signal.aborted;
    getAgain(`${base}/pages/${number}/boxes${query({ quote: quote.slice(0, 5000) })}`, stop.signal)
      .then((found) => here() && setBoxes(found.boxes), (error) => here() && error.status === 404 && setBoxes(null));
    return () => stop.abort();
  }, [base, number, quote, ready]);
  return boxes;
}

/** Words looked for in the document: its matches in order, and which of them is shown. */
export function useFind(base, words, page, onPage) {
  /** @type {{ matches: any[], more: boolean, at: number, state: string, error?: any }} */
  const none = { matches: [], more: false, at: -1, state: "idle" };
  const [found, setFound] = useState(none);
  useEffect(() => {
    if (!words.trim()) return setFound(none);
    const stop = new AbortController(), here = () => !stop.signal.aborted;
    setFound((before) => ({ ...before, state: "looking" }));
    const timer = setTimeout(async () => {
      try {
        const { matches, more } = await getAgain(`${base}/find${query({ q: words, limit: 1000 })}`, stop.signal);
        if (!here()) return;
        const at = matches.length ? Math.max(matches.findIndex((one) => one.page >= page), 0) : -1;
        setFound({ matches, more, at, state: "done" });
        if (at >= 0) onPage(matches[at].page);
      } catch (error) {
        if (here()) setFound({ ...none, state: "error", error });
      }
    }, 200);
    return () => { stop.abort(); clearTimeout(timer); };
  }, [base, words]);
  const step = (by) => setFound((before) => {
    if (!before.matches.length) return before;
    const at = (before.at + by + before.matches.length) % before.matches.length;
    onPage(before.matches[at].page);
    return { ...before, at };
  });
  return { ...found, step };
}
