import { useState } from "./ui.js";

/** @typedef {(work: () => Promise<unknown>, done?: string) => Promise<void>} Attempt does something */

/** What becomes of things that a person asks for: what was done, or went wrong, is said.
 * @param {() => unknown} [changed] after what went well
 * @returns {[Attempt, { text: string, bad: boolean }]} */
export function useAttempt(changed) {
  const [said, setSaid] = useState({ text: "", bad: false });
  const attempt = async (/** @type {() => Promise<unknown>} */ work, done = "") => {
    try {
      await work();
      setSaid({ text: done, bad: false });
      changed?.();
    } catch (/** @type {any} */ error) {
      setSaid({ text: [error.message, error.advice].filter(Boolean).join(" "), bad: true });
    }
  };
  return [attempt, said];
}
