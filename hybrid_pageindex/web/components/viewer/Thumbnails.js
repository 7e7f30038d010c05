import { html, useEffect, useRef, useState } from "../../ui.js";
import { t } from "../../i18n.js";
import { thumbnailOf } from "./addresses.js";

const HIGH = 164; // CSS pixels of one thumbnail with its number; the style sheet says the same
const MORE = 3; // thumbnails beyond each edge

/** The pages small, of which only those in sight are made, with a rail that shows where in the document the hits are.
 * `wait`: the page itself is still drawn, which comes first. */
export function Thumbnails({ base, info, page, counts, wait, onPage, onStep }) {
  const list = useRef(null), held = useRef(false);
  const [top, setTop] = useState(Math.max((page - 1) * HIGH - 200, 0)), [high, setHigh] = useState(600);
  const begun = useRef(/** @type {Set<number>} */ (new Set()));
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setHigh(entry.contentRect.height));
    watch.observe(list.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const box = list.current, at = (page - 1) * HIGH;
    if (at < box.scrollTop || at + HIGH > box.scrollTop + box.clientHeight) box.scrollTop = at - (box.clientHeight - HIGH) / 2;
    if (held.current) list.current.querySelector("[aria-current]")?.focus({ preventScroll: true });
  }, [page, top]);
  const first = Math.max(Math.floor(top / HIGH) - MORE, 0);
  const last = Math.min(Math.ceil((top + high) / HIGH) + MORE, info.pages);
  const numbers = Array.from({ length: Math.max(last - first, 0) }, (_, at) => first + at + 1);
  if (!wait) numbers.forEach((number) => begun.current.add(number));
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -info.pages, End: info.pages }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    onStep(step);
  };
  return html`<nav class="strip" aria-label=${t("viewer.pages")}>
    <div class="thumbnails" ref=${list} onScroll=${(event) => setTop(event.target.scrollTop)} onKeyDown=${keys}
      onFocusIn=${() => (held.current = true)} onFocusOut=${(event) => event.relatedTarget && (held.current = false)}>
      <div style=${{ height: `${info.pages * HIGH}px` }}>
        ${numbers.map((number) => html`<button type="button" key=${number} class="thumbnail" style=${{ top: `${(number - 1) * HIGH}px` }}
          tabIndex=${number === page ? 0 : -1} aria-current=${number === page ? "page" : undefined} onClick=${() => onPage(number)}
          aria-label=${counts.get(number) ? t("viewer.page_hits", { page: number, count: counts.get(number) }) : t("viewer.page", { page: number })}>
          <span class="leaf"><img src=${begun.current.has(number) ? thumbnailOf(base, number, info.content_id) : undefined} alt="" decoding="async" onLoad=${(event) => event.target.classList.add("there")} /></span>
          <span class="number">${number}</span>${counts.get(number) ? html`<span class="count">${counts.get(number)}</span>` : null}
        </button>`)}
      </div>
    </div>
    <div class="rail" aria-hidden="true">
      ${[...counts.keys()].map((number) => html`<span key=${number} class=${number === page ? "tick here" : "tick"}
        style=${{ top: `${(100 * (number - 0.5)) / info.pages}%` }} onClick=${() => onPage(number)} />`)}
      <span class="here-mark" style=${{ top: `${(100 * (page - 0.5)) / info.pages}%` }} />
    </div>
  </nav>`;
}
