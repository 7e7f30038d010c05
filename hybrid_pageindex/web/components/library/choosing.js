// Which documents are shown, in which order, and what there is to choose from.
import { folded } from "./documents.js";

/** @typedef {import("./documents.js").Row} Row */
/** @typedef {import("./documents.js").Job} Job */

export const FACETS = /** @type {const} */ (["organisation", "type", "year", "format", "state"]);
export const SORTS = /** @type {const} */ (["title", "name", "organisation", "year", "type", "pages", "size", "indexed_at"]);

/** @param {Row} row @param {Map<string, Job>} active */
export function stateOf(row, active) {
  if (active.has(row.path)) return "indexing";
  if (row.error) return "failed";
  return row.warnings ? "warned" : "ready";
}

/** @param {Row} row @param {string} facet @param {Map<string, Job>} active */
const valueOf = (row, facet, active) => (facet === "state" ? stateOf(row, active) : String(row[facet] || ""));

/**
 * @param {Row[]} rows @param {URLSearchParams} given @param {Map<string, Job>} active
 * @returns {{ shown: Row[], facets: Record<string, [string, number][]> }} facets count what the other choices leave
 */
export function choose(rows, given, active) {
  const words = folded(given.get("words") ?? "").split(/\s+/).filter(Boolean);
  const asked = FACETS.map((facet) => given.get(facet));
  const counts = FACETS.map(() => /** @type {Map<string, number>} */ (new Map()));
  const shown = [];
  for (const row of rows) {
    if (!words.every((word) => row.words.includes(word))) continue;
    const values = FACETS.map((facet) => valueOf(row, facet, active));
    const unfit = asked.flatMap((value, at) => (value !== null && value !== values[at] ? [at] : []));
    if (!unfit.length) shown.push(row);
    values.forEach((value, at) => {
      if (value && unfit.every((one) => one === at)) counts[at].set(value, (counts[at].get(value) ?? 0) + 1);
    });
  }
  const facets = Object.fromEntries(FACETS.map((facet, at) => [facet, [...counts[at]].sort(facet === "year" ? newest : most)]));
  return { shown, facets };
}

/** @param {[string, number]} one @param {[string, number]} other */
const newest = (one, other) => Number(other[0]) - Number(one[0]);

/** @param {[string, number]} one @param {[string, number]} other */
const most = (one, other) => other[1] - one[1] || compare(one[0], other[0]);

const { compare } = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** What a row is called. @param {Row} row */
export const titleOf = (row) => row.title || row.name;

/** @param {Row[]} rows @param {string} sort a name of SORTS, with "-" before it downwards; what says nothing comes last */
export function sorted(rows, sort) {
  const down = sort.startsWith("-") ? -1 : 1;
  const by = sort.replace("-", "");
  const value = by === "title" ? titleOf : (/** @type {Row} */ row) => row[by];
  const numbers = ["year", "pages", "size"].includes(by);
  return rows.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (!a !== !b) return a ? -1 : 1;
    return down * (numbers ? a - b : by === "indexed_at" ? (a < b ? -1 : Number(a > b)) : compare(a, b));
  });
}

/** @typedef {{ key: string, name: string, level: number, documents: number, row?: Row }} Branch */

/** The folders of a path below `upload:/` or the root, and the name of its file. @param {string} path */
const partsOf = (path) => path.replace(/^\w+:\/+|^\/+/, "").split("/");

/** Whether any lies in a folder, above which the others do not all lie too. @param {Row[]} rows */
export const hasFolders = (rows) => rows.some((row) => partsOf(row.path).length > 1);

/**
 * The lines of the tree of folders that can be seen: the folders before the documents of each.
 * @param {Row[]} rows in the order of each folder @param {Set<string>} open keys of the folders that are open
 * @returns {Branch[]}
 */
export function branches(rows, open) {
  /** @typedef {{ folders: Map<string, Folder>, rows: Row[], documents: number }} Folder */
  /** @returns {Folder} */
  const folder = () => ({ folders: new Map(), rows: [], documents: 0 });
  const top = folder();
  for (const row of rows) {
    let here = top;
    here.documents += 1;
    for (const name of partsOf(row.path).slice(0, -1)) {
      if (!here.folders.has(name)) here.folders.set(name, folder());
      here = /** @type {Folder} */ (here.folders.get(name));
      here.documents += 1;
    }
    here.rows.push(row);
  }
  /** @type {Branch[]} */
  const lines = [];
  const add = (/** @type {Folder} */ from, /** @type {string} */ above, /** @type {number} */ level) => {
    for (const [name, one] of [...from.folders].sort((a, b) => compare(a[0], b[0]))) {
      let [label, inner] = [name, one];
      while (inner.folders.size === 1 && !inner.rows.length) { // a folder that holds but one folder is shown with it
        const [[next, only]] = inner.folders;
        [label, inner] = [`${label}/${next}`, only];
      }
      const key = `${above}/${label}`;
      lines.push({ key, name: label, level, documents: inner.documents });
      if (open.has(key)) add(inner, key, level + 1);
    }
    for (const row of from.rows) lines.push({ key: row.doc_id, name: row.name, level, documents: 0, row });
  };
  add(top, "", 1);
  return lines;
}
