// The settings as the server has them, and what becomes of a change.
import { useAnswer } from "../../answers.js";
import { change, get } from "../../api.js";
import { useCallback, useMemo, useRef } from "../../ui.js";

/** @typedef {{ name: string, value: any, default: any, help: string, choices: string[], fixed: string, given: boolean }} Value */
/** @typedef {{ views: Map<string, Value>, wrong: any, save: (wanted: Record<string, any>) => Promise<void> }} Values `save` throws */

/** @returns {Values} */
export function useSettings() {
  const { answer, wrong, set } = useAnswer((signal) => get("/settings", signal), []);
  const views = useMemo(() => new Map((answer ?? []).map((/** @type {Value} */ one) => [one.name, one])), [answer]);
  const queue = useRef(Promise.resolve()); // changes are sent one after the other: each answer has all before it
  const save = useCallback((/** @type {Record<string, any>} */ wanted) => {
    const saved = queue.current.then(async () => set(await change("PATCH", "/settings", wanted)));
    queue.current = saved.catch(() => {});
    return saved;
  }, []);
  return { views, wrong, save };
}
