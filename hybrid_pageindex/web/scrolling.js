// How far one had scrolled: kept with the place in the browser's history, so that 'back' leads there, as a reload does.
import { useEffect, useLayoutEffect, useRef } from "./ui.js";

const PAUSE = 150; // ms after the last scroll

/** @param {boolean} ready whether what was there is there again @param {URLSearchParams} given what changes with the place */
export function useScrollPlace(ready, given) {
  const begun = useRef(false);
  useLayoutEffect(() => {
    if (!ready || begun.current) return;
    begun.current = true;
    scrollTo(0, history.state?.scroll ?? 0);
  }, [ready]);
  useEffect(() => {
    if (!ready) return;
    let timer = 0;
    const keep = () => history.replaceState({ ...history.state, scroll: scrollY }, "");
    const scrolled = () => {
      clearTimeout(timer);
      timer = setTimeout(keep, PAUSE);
    };
    keep();
    const stop = new AbortController();
    addEventListener("scroll", scrolled, { passive: true, signal: stop.signal });
    addEventListener("click", keep, { capture: true, signal: stop.signal }); // before it leads elsewhere
    return () => (clearTimeout(timer), stop.abort());
  }, [ready, given]);
}
