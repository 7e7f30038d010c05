// The pages of a document below each other, of which only those near the window are there; what is read stays in its place.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../ui.js";
import { remember, remembered } from "../../storage.js";

export const GAP = 16; // px between two pages
const BEYOND = 1; // rows of pages above and below the window that are there, too
const DOCUMENTS = 100; // whose last page the browser remembers

/** @typedef {{ page: number, share: number }} Anchor the page at the top of the window, and how much of it lies above */

/**
 * @param {{ count: number, columns: number, heightOf: (page: number) => number, on: unknown[], active: boolean, page: number,
 *   onPage: (page: number) => void, onMove: (anchor: Anchor) => void }} props `on`: what heights depend on;
 *   `onPage` is told the page that is read, where scrolling led to another
 */
export function usePageScroll({ count, columns, heightOf, on, active, page, onPage, onMove }) {
  const stage = useRef(/** @type {any} */ (null)), sheets = useRef(/** @type {any} */ (null));
  const [range, setRange] = useState({ first: page, last: page });
  const places = useMemo(() => {
    const heights = [0], tops = [0, 0];
    for (let number = 1; number <= count; number += 1) heights.push(heightOf(number));
    for (let number = 1; number <= count; number += columns) { // pages of a row begin at the same height; after the last one is the end
      const row = heights.slice(number, number + columns), below = tops[number] + Math.max(...row) + GAP;
      tops.push(...row.slice(1).fill(tops[number]), below);
    }
    return { heights, tops };
  }, [count, columns, active, ...on]);
  const anchor = useRef(/** @type {Anchor} */ ({ page, share: 0 }));
  const now = useRef({ places, page, onPage, onMove, count, columns });
  now.current = { places, page, onPage, onMove, count, columns };

  /** How far the window's top lies below the first page's. */
  const offset = () => stage.current.getBoundingClientRect().top + stage.current.clientTop - sheets.current.getBoundingClientRect().top;

  const measure = useCallback(() => {
    if (!sheets.current) return;
    const { places: { heights, tops }, page: read, count: pages, columns: wide } = now.current;
    const top = offset(), bottom = top + stage.current.clientHeight;
    const first = firstOfRow(Math.min(pageAt(tops, pages, top), pages), wide), last = pageAt(tops, pages, bottom);
    anchor.current = { page: first, share: (top - tops[first]) / heights[first] };
    const begin = Math.max(first - BEYOND * wide, 1), end = Math.min(last + BEYOND * wide, pages);
    setRange((old) => (old.first === begin && old.last === end ? old : { first: begin, last: end }));
    const seen = (/** @type {number} */ number) =>
      (Math.min(bottom, tops[number] + heights[number]) - Math.max(top, tops[number])) / Math.min(heights[number], bottom - top);
    let best = read >= first && read <= last ? read : first; // of pages that are seen alike, the one that is read
    for (let number = first; number <= last; number += 1) if (seen(number) > seen(best) + 0.01) best = number;
    now.current.onMove(anchor.current);
    if (best !== read) now.current.onPage(best);
  }, []);

  /** `read`: the page that is read from now on, of those that are seen then. */
  const moveTo = useCallback((/** @type {Anchor} */ to, read = now.current.page) => {
    anchor.current = to;
    now.current.page = read;
    if (!sheets.current) return;
    const { heights, tops } = now.current.places;
    stage.current.scrollTop += tops[to.page] + to.share * heights[to.page] - offset();
    measure();
  }, []);

  useLayoutEffect(() => { // sizes became known, or others: what is read stays where it is
    if (active && count) moveTo({ ...anchor.current, page: Math.min(anchor.current.page, count) });
  }, [places]);
  useEffect(() => {
    if (!active || !stage.current) return;
    const box = stage.current;
    box.addEventListener("scroll", measure, { passive: true });
    const watch = new ResizeObserver(measure);
    watch.observe(box);
    return () => (watch.disconnect(), box.removeEventListener("scroll", measure));
  }, [active, count]);
  return { stage, sheets, places, range, measure, moveTo };
}

/** The first page beside which a page stands. @param {number} page @param {number} columns */
export const firstOfRow = (page, columns) => page - ((page - 1) % columns);

/** The page at a height, the last one that begins above it. @param {number[]} tops @param {number} count @param {number} height */
function pageAt(tops, count, height) {
  let low = 1, high = Math.max(count, 1);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (tops[middle] <= height) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** @returns {[string, number][]} documents and the page that was read last, the latest first */
function lastPages() {
  try {
    const read = JSON.parse(remembered("reading") || "[]");
    return Array.isArray(read) ? read.filter((entry) => Array.isArray(entry) && entry[1] > 0) : [];
  } catch {
    return [];
  }
}

/** The page of a document that was read last, 1 for none. @param {string} base */
export const lastPage = (base) => lastPages().find(([document]) => document === base)?.[1] ?? 1;

/** @param {string} base @param {number} page */
export const keepPage = (base, page) =>
  remember("reading", JSON.stringify([[base, page], ...lastPages().filter(([document]) => document !== base)].slice(0, DOCUMENTS)));
