// Libraries as they are now: what is in them, and what is still to be indexed.
import { follow, get } from "./api.js";
import { useEffect, useRef, useState } from "./ui.js";

const SOON = 400; // ms in which what happens to jobs is looked at together

/** @returns {any[]} */
export function useLibraries() {
  const [libraries, setLibraries] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    const look = () => get("/libraries").then(setLibraries, () => null); // the frame says that the server is away
    let timer = 0;
    look();
    const stop = follow("/jobs/events", (kind) => {
      if (kind === "progress") return;
      clearTimeout(timer);
      timer = setTimeout(look, SOON);
    });
    return () => (clearTimeout(timer), stop());
  }, []);
  return libraries;
}

/** Differs when documents came, changed or went. @param {any[]} libraries */
export const stateOf = (libraries) => libraries.map((one) => `${one.documents} ${one.changed_at}`).join("\n");

/**
 * Calls when documents of these libraries came, changed or went since they were first seen.
 * @param {any[]} about @param {() => void} changed
 */
export function useChanges(about, changed) {
  const names = about.map((one) => one.name).join("\n");
  const state = stateOf(about);
  const before = useRef({ names, state });
  useEffect(() => {
    const { names: asked, state: seen } = before.current;
    before.current = { names, state };
    if (asked === names && seen !== state) changed();
  }, [names, state]);
}
