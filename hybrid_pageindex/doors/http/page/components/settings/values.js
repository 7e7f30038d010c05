// The settings as the server has them, and what becomes of a change.
import { change, get } from "../../api.js";
import { useCallback, useEffect, useState } from "../../ui.js";

/** @typedef {{ name: string, value: any, default: any, help: string, choices: string[], fixed: string, given: boolean }} Value */
/** @typedef {{ views: Map<string, Value>, wrong: any, save: (wanted: Record<string, any>) => Promise<void> }} Values `save` throws */

/** @returns {Values} */
export function useSettings() {
  const [views, setViews] = useState(/** @type {Map<string, Value>} */ (new Map()));
  const [wrong, setWrong] = useState(/** @type {any} */ (null));
  const hold = (/** @type {Value[]} */ found) => setViews(new Map(found.map((one) => [one.name, one])));
  useEffect(() => void get("/settings").then(hold, setWrong), []);
  const save = useCallback(async (/** @type {Record<string, any>} */ wanted) => hold(await change("PATCH", "/settings", wanted)), []);
  return { views, wrong, save };
}
