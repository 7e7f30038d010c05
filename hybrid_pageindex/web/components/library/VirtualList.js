// A list of any length, of which only what can be seen is there: it scrolls with the page.
import { html, useLayoutEffect, useRef, useState } from "../../ui.js";

const BEYOND = 6; // lines kept above and below what can be seen
const BAR = 60; // px that the page's bar covers

/**
 * @param {{ count: number, height: number, width?: number, attributes: object,
 *   item: (index: number, placed: { style: string, "data-index": number }, current: boolean) => any,
 *   onKey?: (event: KeyboardEvent, index: number) => boolean }} props `height` of a line in px; `width` the least of an
 *   item, of which a line holds as many as fit; `onKey` tells whether it took a key
 */
export function VirtualList({ count, height, width = 0, attributes, item, onKey }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [seen, setSeen] = useState({ first: 0, last: 0, columns: 1 });
  const [current, setCurrent] = useState(0);
  const wanted = useRef(-1);
  const { columns } = seen;

  const measure = () => {
    const list = box.current;
    if (!list) return;
    const { top, width: wide } = list.getBoundingClientRect();
    const columns = width ? Math.max(1, Math.floor(wide / width)) : 1;
    const first = Math.max(0, Math.floor(-top / height) - BEYOND);
    const last = Math.min(Math.ceil(count / columns), Math.ceil((innerHeight - top) / height) + BEYOND);
    setSeen((old) => (old.first === first && old.last === last && old.columns === columns ? old : { first, last, columns }));
  };
  useLayoutEffect(measure);
  useLayoutEffect(() => {
    const look = new ResizeObserver(measure);
    look.observe(document.body);
    addEventListener("scroll", measure, { passive: true });
    return () => (look.disconnect(), removeEventListener("scroll", measure));
  }, [count, height, width]);
  useLayoutEffect(() => {
    if (wanted.current < 0) return;
    const main = /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector(`[data-index="${wanted.current}"] [data-main]`));
    if (main) wanted.current = -1;
    main?.focus({ preventScroll: true });
  });

  const go = (/** @type {number} */ index) => {
    const list = /** @type {HTMLElement} */ (box.current);
    const top = list.getBoundingClientRect().top + Math.floor(index / columns) * height;
    if (top < BAR) scrollBy(0, top - BAR);
    else if (top + height > innerHeight) scrollBy(0, top + height - innerHeight);
    wanted.current = index;
    setCurrent(index);
    measure();
  };
  const keyed = (/** @type {KeyboardEvent} */ event) => {
    const inside = /** @type {HTMLElement} */ (event.target).closest("[data-index]");
    if (!inside || event.altKey || event.ctrlKey || event.metaKey) return;
    const index = Number(/** @type {HTMLElement} */ (inside).dataset.index);
    if (onKey?.(event, index)) return event.preventDefault();
    const page = Math.max(1, Math.floor((innerHeight - BAR) / height)) * columns;
    const sideways = columns > 1 ? { ArrowRight: 1, ArrowLeft: -1 } : {};
    const steps = { ArrowDown: columns, ArrowUp: -columns, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity, ...sideways };
    if (!(event.key in steps)) return;
    event.preventDefault();
    go(Math.max(0, Math.min(count - 1, index + steps[event.key])));
  };
  const focused = (/** @type {FocusEvent} */ event) => {
    const inside = /** @type {HTMLElement} */ (event.target).closest("[data-index]");
    if (inside) setCurrent(Number(/** @type {HTMLElement} */ (inside).dataset.index));
  };

  const active = Math.min(current, count - 1);
  const indices = [];
  for (let index = seen.first * columns; index < Math.min(count, seen.last * columns); index += 1) indices.push(index);
  if (active >= 0 && !indices.includes(active)) indices.push(active); // so that focus is not lost with what scrolled away
  const style = (/** @type {number} */ index) =>
    `top:${Math.floor(index / columns) * height}px;height:${height}px;width:${100 / columns}%;left:${((index % columns) * 100) / columns}%`;
  return html`<div class="virtual" ref=${box} style=${`height:${Math.ceil(count / columns) * height}px`} onKeyDown=${keyed}
    onFocusIn=${focused} ...${attributes}>
    ${indices.map((index) => item(index, { style: style(index), "data-index": index }, index === active))}
  </div>`;
}
