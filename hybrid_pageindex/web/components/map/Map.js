// A document's sections as a map: what it consists of, how long each part is, and where a question is answered.
import { useAnswer, wordsOf } from "../../answers.js";
import { get, query } from "../../api.js";
import { t } from "../../i18n.js";
import { docLink, go, link, pageLink } from "../../router.js";
import { html, useEffect, useMemo, useRef, useState } from "../../ui.js";
import { documentPath } from "../viewer/addresses.js";
import { IconButton } from "../viewer/Icons.js";
import { HEIGHT, WIDTH, bestOf, firstOpen, highest, layOut, wayTo } from "./layout.js";
import { useMoving } from "./moving.js";

const ROOT = "root";
const CURVE = 32; // px that a line runs straight from a section before it turns

/** @param {{ library: string, doc: string, given: URLSearchParams }} props */
export function DocumentMap({ library, doc, given }) {
  const question = given.get("q") ?? "", [typed, setTyped] = useState(question);
  const base = documentPath(library, doc);
  const { answer, wrong } = useAnswer((signal) => get(`${base}/outline${query({ q: question || undefined })}`, signal), [base, question]);
  const root = useMemo(() => answer && { node_id: ROOT, title: answer.title || answer.doc_name, start_page: 1, end_page: Math.max(answer.pages, 1), summary: answer.description, nodes: answer.nodes }, [answer]);
  const best = useMemo(() => (root && answer.query ? bestOf(root) : []), [root]);
  useEffect(() => setTyped(question), [question]);
  const ask = (/** @type {Event} */ event) => {
    event.preventDefault();
    go(link(["map", library, doc], { q: typed.trim() }));
  };
  const shaded = best.length > 0 && answer.query === question;
  return html`<section class="map-view" aria-label=${t("map.title")}>
    <header class="map-head">
      <div class="grow"><h1>${root?.title ?? t("map.title")}</h1>
        <p class="small muted">${t("map.more")}</p></div>
      <a class="button" href=${docLink(library, doc)}>${t("map.read")}</a>
    </header>
    <form class="map-ask row" role="search" onSubmit=${ask}>
      <input class="grow" type="search" maxlength="2000" value=${typed} placeholder=${t("map.question")} aria-label=${t("map.question")} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} />
      <button class="primary">${t("map.shade")}</button>
      ${question && html`<button type="button" onClick=${() => go(link(["map", library, doc]))}>${t("map.plain")}</button>`}
    </form>
    ${wrong && html`<p class="bad" role="alert">${wordsOf(wrong)}</p>`}
    <p class="small map-best" role="status">${shaded && html`${t("map.best")} ${best.slice(0, 3).map((section, at) => html`${at ? " · " : ""}<a key=${section.node_id} href=${pageLink(library, doc, pageOf(section))}>${section.title} (${pageOf(section)})</a>`)}`}
      ${question && answer?.query === question && !best.length && t("search.outline_none")}</p>
    ${!root && !wrong && html`<div class="map-stage" aria-busy="true" />`}
    ${root && (root.nodes.length ? html`<${Drawing} root=${root} best=${best} library=${library} doc=${doc} />` : html`<p class="muted">${t("details.no_outline")}</p>`)}
  </section>`;
}

/** The page to open for a section: the best one for the question, or its first. @param {import("./layout.js").Section} section */
const pageOf = (section) => section.best_pages?.[0] ?? section.start_page;

/** @param {{ root: import("./layout.js").Section, best: import("./layout.js").Section[], library: string, doc: string }} props */
function Drawing({ root, best, library, doc }) {
  const stage = useRef(/** @type {any} */ (null));
  const [open, setOpen] = useState(() => firstOpen(root)), [current, setCurrent] = useState(root.node_id), [focused, focus] = useState("");
  const { view, zoom, fit, reveal, shift, moved, handlers } = useMoving(stage);
  const { spots, width, height } = useMemo(() => layOut(root, open), [root, open]);
  const anchor = useRef(/** @type {{ id: string, x: number, y: number } | null} */ (null));
  const pages = Math.max(root.end_page, 1), most = best.length ? highest(root) : 0;
  useEffect(() => fit(width, height), []);
  useEffect(() => { // the way to the best sections is opened
    if (best.length) setOpen((now) => new Set([...now, ...best.slice(0, 3).flatMap((section) => wayTo(root, section.node_id).slice(0, -1))]));
  }, [best]);
  useEffect(() => { // the best one is in sight once it is drawn
    const spot = best.length && spots.find((each) => each.section.node_id === best[0].node_id);
    if (spot) reveal(spot.x, spot.y, WIDTH, HEIGHT);
  }, [best, best.length && spots.some((each) => each.section.node_id === best[0].node_id)]);
  useEffect(() => { // what was opened stays where it is
    const before = anchor.current, spot = before && spots.find((each) => each.section.node_id === before.id);
    anchor.current = null;
    if (spot && before) shift(before.x - spot.x, before.y - spot.y);
  }, [spots]);
  useEffect(() => {
    if (!focused) return;
    focus("");
    stage.current?.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }, [focused, spots]);

  const turn = (/** @type {import("./layout.js").Spot} */ spot, on = !spot.open) => {
    if (!spot.inner) return;
    anchor.current = { id: spot.section.node_id, x: spot.x, y: spot.y };
    setOpen((now) => {
      const next = new Set(now);
      next[on ? "add" : "delete"](spot.section.node_id);
      return next;
    });
  };
  const to = (/** @type {import("./layout.js").Spot | null | undefined} */ spot) => {
    if (!spot) return;
    setCurrent(spot.section.node_id);
    focus(spot.section.node_id);
    reveal(spot.x, spot.y, WIDTH, HEIGHT);
  };
  const enter = (/** @type {import("./layout.js").Spot} */ spot) => go(pageLink(library, doc, pageOf(spot.section)));
  const keyed = (/** @type {KeyboardEvent} */ event) => {
    const id = /** @type {HTMLElement} */ (event.target).dataset.node, at = spots.findIndex((each) => each.section.node_id === id), spot = spots[at];
    const beside = (/** @type {number} */ step) => {
      const level = spots.filter((each) => each.level === spot.level);
      return level[level.indexOf(spot) + step];
    };
    const does = {
      "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: () => fit(width, height, 0.15),
      ...(spot && {
        ArrowRight: () => (spot.open ? to(spots[at + 1]) : turn(spot, true)), ArrowLeft: () => (spot.open ? turn(spot, false) : to(spot.above)),
        ArrowDown: () => to(beside(1)), ArrowUp: () => to(beside(-1)), Home: () => to(spots[0]), End: () => to(spots[spots.length - 1]),
        Enter: () => enter(spot), " ": () => turn(spot),
      }),
    }[event.key];
    if (!does || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    does();
  };
  const tabbed = spots.some((spot) => spot.section.node_id === current) ? current : root.node_id;
  return html`<div class="map-room">
    <svg class="map-stage" ref=${stage} role="tree" aria-label=${t("details.outline")} onKeyDown=${keyed} ...${handlers}>
      <g transform=${`translate(${view.x} ${view.y}) scale(${view.scale})`}>
        ${spots.map((spot) => spot.above && html`<path key=${`to ${spot.section.node_id}`} class="map-line" d=${curve(spot.above, spot)} />`)}
        ${spots.map((spot) => html`<${Node} key=${spot.section.node_id} spot=${spot} pages=${pages} share=${most ? (spot.section.node_score ?? 0) / most : 0} shaded=${most > 0}
          tab=${spot.section.node_id === tabbed} onFocus=${() => setCurrent(spot.section.node_id)} onOpen=${() => moved.current || enter(spot)} onTurn=${() => moved.current || turn(spot)} />`)}
      </g>
    </svg>
    <div class="map-tools" role="toolbar" aria-label=${t("map.zoom")}>
      <${IconButton} icon="minus" label=${t("viewer.smaller")} keys="-" onClick=${() => zoom(0.8)} />
      <${IconButton} icon="plus" label=${t("viewer.larger")} keys="+" onClick=${() => zoom(1.25)} />
      <${IconButton} icon="whole" label=${t("map.whole")} keys="0" onClick=${() => fit(width, height, 0.15)} />
    </div></div>`;
}

/** @param {import("./layout.js").Spot} from @param {import("./layout.js").Spot} to */
function curve(from, to) {
  const x0 = from.x + WIDTH + 20, y0 = from.y + HEIGHT / 2, y1 = to.y + HEIGHT / 2;
  return `M${x0} ${y0}C${x0 + CURVE} ${y0} ${to.x - CURVE} ${y1} ${to.x} ${y1}`;
}

/** One section: a bar below its title says how much of the document it takes. @param {any} props */
function Node({ spot, pages, share, shaded, tab, onFocus, onOpen, onTurn }) {
  const { section, x, y, inner, open, level } = spot, many = section.end_page - section.start_page + 1;
  const where = section.start_page === section.end_page ? `${section.start_page}` : `${section.start_page}–${section.end_page}`;
  const name = `${section.title}, ${t("library.pages", { n: many })}${shaded ? `, ${Math.round(share * 100)} %` : ""}`;
  return html`<g class=${`map-node${level ? "" : " root"}`} role="treeitem" data-node=${section.node_id} aria-level=${level + 1} aria-label=${name} aria-expanded=${inner ? String(open) : undefined}
    tabindex=${tab ? 0 : -1} transform=${`translate(${x} ${y})`} onFocus=${onFocus}>
    <title>${section.title}${section.summary ? `\n${section.summary}` : ""}</title>
    <g class="map-title" onClick=${onOpen}>
      <rect width=${WIDTH} height=${HEIGHT} rx="8" style=${`--share:${share.toFixed(3)}`} />
      <rect class="map-length" x="8" y=${HEIGHT - 6} height="3" rx="1.5" width=${Math.max(((WIDTH - 16) * many) / pages, 2)} />
      <foreignObject width=${WIDTH} height=${HEIGHT - 6}><div class="map-words"><span>${section.title}</span><small>${where}</small></div></foreignObject>
    </g>
    ${inner > 0 && html`<g class="map-turn" transform=${`translate(${WIDTH + 10} ${HEIGHT / 2})`} onClick=${onTurn} aria-hidden="true"><circle r="10" /><text text-anchor="middle" dy="4">${open ? "−" : inner}</text></g>`}
  </g>`;
}
