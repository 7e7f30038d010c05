// A search while it goes on: what is typed is searched quickly, what was asked with its effort and its steps.
import { ApiError, ask, post } from "../../api.js";
import { overhear } from "../../feed.js";
import { GONE } from "../../libraries.js";
import { useEffect, useState } from "../../ui.js";
import { remember, request } from "./asking.js";

const KEPT = 20, FRESH = 60_000; // ms
const PAUSE = 250, AGAIN = 3000; // ms

/** Results by what was asked, so that 'back' shows them where they were left. @type {Map<string, { found: any, at: number }>} */
const held = new Map();

let outdated = 0; // how often documents changed

/** @param {string} key @param {any} found @param {number} since `outdated` as the search began */
function keep(key, found, since) {
  held.delete(key);
  held.set(key, { found, at: since === outdated ? Date.now() : 0 });
  if (held.size > KEPT) held.delete(/** @type {string} */ (held.keys().next().value));
}

/** What was found is looked for again when it is next shown: the documents changed. */
export function outdate() {
  outdated += 1;
  for (const one of held.values()) one.at = 0;
}

overhear((kind) => void (kind === "changed" && outdate()));
addEventListener(GONE, () => held.clear());

/**
 * @param {import("./asking.js").Asked} one what was asked @param {string} typed what stands in the box now
 * @returns {{ found: any, steps: any[], busy: boolean, error: ApiError | null, again: () => void }}
 */
export function useSearch(one, typed) {
  const quick = typed.trim() !== one.q && typed.trim() !== "", wished = quick ? { ...one, q: typed.trim(), effort: "fast" } : one;
  const key = JSON.stringify(request(wished));
  const [state, setState] = useState(() => ({ found: held.get(key)?.found ?? null, steps: /** @type {any[]} */ ([]), busy: false, error: /** @type {any} */ (null) }));
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!wished.q) return setState({ found: null, steps: [], busy: false, error: null });
    const before = held.get(key), stop = new AbortController();
    let again = 0;
    if (before) {
      setState({ found: before.found, steps: [], busy: false, error: null });
      if (!round && Date.now() - before.at < FRESH) return;
    }
    const change = (/** @type {any} */ more) => stop.signal.aborted || setState((last) => ({ ...last, ...more }));
    const work = async () => {
      const since = outdated;
      change({ busy: true, steps: [], error: null });
      try {
        let found = null;
        if (quick) found = await post("/search", request(wished), stop.signal);
        else {
          remember(wished.q);
          await ask("/search", request(wished), (kind, data) => {
            if (kind === "step") setState((last) => (stop.signal.aborted ? last : { ...last, steps: [...last.steps, data] }));
            if (kind === "result") found = data;
          }, stop.signal);
        }
        keep(key, found, since);
        change({ found, busy: false });
      } catch (error) {
        if (stop.signal.aborted) return;
        const known = error instanceof ApiError ? error : new ApiError(0, "failed", String(error));
        change({ busy: false, error: known, ...(!known.offline && { found: null }) });
        if (known.offline) again = setTimeout(work, AGAIN);
      }
    };
    const wait = setTimeout(work, quick ? PAUSE : 0);
    return () => { stop.abort(); clearTimeout(wait); clearTimeout(again); };
  }, [key, quick, round]);
  return { ...state, again: () => setRound((times) => times + 1) };
}
