// The pages of a document below each other, of which only those near the window are there; what is read stays in its place.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../ui.js";
import { remember, remembered } from "../../storage.js";

const GAP = 16; // px between two pages
const BEYOND = 1; // pages above and below the window that are there, too
const DOCUMENTS = 100; // whose last page the browser remembers

/** @typedef {{ page: number, share: number }} Anchor the page at the top of the window, and how much of it lies above */

/**
 * @param {{ count: number, heightOf: (page: number) => number, on: unknown[], active: boolean, page: number,
 *   onPage: (page: number) => void, onMove: (anchor: Anchor) => void }} props `on`: what heights depend on;
 *   `onPage` is told the page that is read, where scrolling led to another
 */
export function usePageScroll({ count, heightOf, on, active, page, onPage, onMove }) {
  const stage = useRef(/** @type {any} */ (null)), sheets = useRef(/** @type {any} */ (null));
  const [range, setRange] = useState({ first: page, last: page });
  const places = useMemo(() => {
    const heights = [0], tops = [0, 0];
    for (let number = 1; number <= count; number += 1) {
      heights.push(heightOf(number));
      tops.push(tops[number] + heights[number] + GAP);
    }
    return { heights, tops };
  }, [count, active, ...on]);
  const anchor = useRef(/** @type {Anchor} */ ({ page, share: 0 }));
  const now = useRef({ places, page, onPage, onMove, count });
  now.current = { places, page, onPage, onMove, count };

  /** How far the window's top lies below the first page's. */
  const offset = () => stage.current.getBoundingClientRect().top + stage.current.clientTop - sheets.current.getBoundingClientRect().top;

  const measure = useCallback(() => {
    if (!sheets.current) return;
    const { places: { heights, tops }, page: read, count: pages } = now.current;
    const top = offset(), bottom = top + stage.current.clientHeight;
    const first = Math.min(pageAt(tops, pages, top), pages), last = pageAt(tops, pages, bottom);
    anchor.current = { page: first, share: (top - tops[first]) / heights[first] };
    const begin = Math.max(first - BEYOND, 1), end = Math.min(last + BEYOND, pages);
    setRange((old) => (old.first === begin && old.last === end ? old : { first: begin, last: end }));
    const seen = (/** @type {number} */ number) =>
      (Math.min(bottom, tops[number] + heights[number]) - Math.max(top, tops[number])) / Math.min(heights[number], bottom - top);
    let best = read >= first && read <= last ? read : first; // of pages that are seen alike, the one that is read
    for (let number = first; number <= last; number += 1) if (seen(number) > seen(best) + 0.01) best = number;
    now.current.onMove(anchor.current);
    if (best !== read) now.current.onPage(best);
  }, []);

  const moveTo = useCallback((/** @type {Anchor} */ to) => {
    anchor.current = to;
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
