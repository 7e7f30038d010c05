// What is asked of where, as addresses and requests have it, and the questions that were asked before.
import { at, post } from "../../api.js";
import { go, link } from "../../router.js";
import * as storage from "../../storage.js";

/** @typedef {{ q: string, library: string, documents: string[], effort: string }} Asked `library` "" is all of them */

export const EFFORTS = ["fast", "auto", "deep"];
const KEPT = 20;

/** @param {URLSearchParams} given @returns {Asked} */
export function asked(given) {
  const effort = given.get("effort") ?? "";
  return {
    q: given.get("q") ?? "", library: given.get("in") ?? "", effort: EFFORTS.includes(effort) ? effort : "auto",
    documents: (given.get("docs") ?? "").split(",").filter(Boolean),
  };
}

/** @param {Partial<Asked>} one */
export const searchLink = ({ q, library, documents = [], effort }) =>
  link(["search"], { q, in: library, docs: library ? documents.join(",") : "", effort: effort === "auto" ? "" : effort });

/** @param {Asked} one */
const about = ({ library, documents }) => (library ? { libraries: [library], ...(documents.length && { documents }) } : { all_libraries: true });

let typed = false;

/** Search for what was typed in a box of another view. @param {Partial<Asked>} one */
export function searchFor(one) {
  typed = true;
  go(searchLink(one));
}

/** Whether the search that is shown was typed just now; told once. */
export function justTyped() {
  const before = typed;
  typed = false;
  return before;
}

const TOP = 10; // pages

/** @param {Asked} one */
export const request = (one) => ({ question: one.q, top_k: TOP, ...about(one), ...(one.effort !== "auto" && { effort: one.effort }) });

/** Begin a conversation with a question. @param {Asked} one */
export async function converse(one) {
  const talk = await post("/conversations", about(one));
  remember(one.q);
  await post(at("conversations", talk.id, "messages"), { question: one.q, ...(one.effort !== "auto" && { effort: one.effort }) });
  go(link(["conversation", talk.id]));
}

/** @returns {string[]} the last one first */
export function remembered() {
  try {
    const kept = JSON.parse(storage.remembered("questions") || "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** @param {string} question */
export function remember(question) {
  storage.remember("questions", JSON.stringify([question, ...remembered().filter((one) => one !== question)].slice(0, KEPT)));
}

/** One of them, or all. @param {string} [question] */
export function forget(question) {
  storage.remember("questions", JSON.stringify(question === undefined ? [] : remembered().filter((one) => one !== question)));
}
