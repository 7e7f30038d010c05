import { at, post } from "../../api.js";
import { t } from "../../i18n.js";
import { go, isAtDoc, link, pageLink } from "../../router.js";
import { remember, remembered } from "../../storage.js";
import { noteText } from "../../translation.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../ui.js";
import { address, documentPath } from "./addresses.js";
import { Contents } from "./Contents.js";
import { FindBar } from "./FindBar.js";
import { boxesOf, passageOfText, passagesOf, useHighlights } from "./highlights.js";
import { IconButton } from "./Icons.js";
import { KeysHelp, actionOf } from "./Keys.js";
import { PageText } from "./PageText.js";
import { placesOf, selectedText } from "./placing.js";
import { useDocument, useFind, usePages, useQuote } from "./reading.js";
import { GAP, firstOfRow, keepPage, lastPage, usePageScroll } from "./scroll.js";
import { Sheet } from "./Sheet.js";
import { State } from "./State.js";
import { Tables } from "./Tables.js";
import { Thumbnails } from "./Thumbnails.js";
import { Toolbar } from "./Toolbar.js";

const A4 = { width: 595, height: 842 };
const STEPS = [0.25, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4];
const PUSH = 240, PAUSE = 600; // px that the wheel goes on at the end of a page; ms after which it begins anew
const ROOM = 32; // CSS pixels beside a page
const WIDE = 800; // CSS pixels of the stage from which on two pages fit beside each other
const OFTEN = 300; // ms between two changes of the address
const SPREADSHEETS = new Set(["xlsx", "xlsb", "xls", "ods", "csv"]); // whose pages are shown as tables, unless words are marked

/** The sections that a page holds, in order: the way to the first, and the names of the others. @param {any} read */
const sectionsOf = (read) => (read?.sections ?? []).map((section, at) => (at ? section.path.at(-1) : section.path.join(" › "))).join(" · ");

/** A document's pages below each other; as text and as tables one at a time.
 * `highlight`: words that are marked on the page it opens with, "…" for words left out; `boxes`: their places, where these are known.
 * `embedded`: beside something else, so that the address of this page is not its own. `note` is said above the page. Another `visit` turns to its page again. */
export function Viewer({ library, doc, page: given = 0, highlight = "", boxes = /** @type {number[][] | null} */ (null), embedded = false, note = "", visit = /** @type {unknown} */ (0), onClose }) {
  const base = documentPath(library, doc), { state, info, newer, error, look } = useDocument(base);
  const asked = useMemo(() => given || lastPage(base), [base, given, visit]);
  const [page, setPage] = useState(asked), [opened, setOpened] = useState(page);
  const [sizes, setSizes] = useState(/** @type {Map<number, typeof A4>} */ (new Map())), [fit, setFit] = useState(/** @type {"calm" | "width" | "page" | number} */ ("calm")), [turn, setTurn] = useState(0), [chosen, setView] = useState("");
  const [strip, setStrip] = useState(!embedded && innerWidth >= 900), [contents, setContents] = useState(() => !embedded && remembered("contents") === "1"), [finding, setFinding] = useState(false), [words, setWords] = useState("");
  const [pair, setPair] = useState(() => remembered("two pages") === "1");
  const [help, setHelp] = useState(false), [told, setTold] = useState(""), [blind, setBlind] = useState(/** @type {Set<number>} */ (new Set()));
  const [plain, setPlain] = useState(/** @type {Set<number>} */ (new Set())); // pages of a spreadsheet without a table
  const [drawn, setDrawn] = useState(/** @type {Set<number>} */ (new Set()));
  const [room, setRoom] = useState({ width: 800, height: 900 });
  const root = useRef(null), reading = useRef(null), pushed = useRef({ by: 0, at: 0 }), fromBelow = useRef(false);
  const begun = useRef(/** @type {Set<number>} */ (new Set())), marked = useRef(""), written = useRef({ at: 0, timer: 0, hash: "" }), openedAt = useRef(opened);
  const [left] = useState(() => history.state?.reading); // where this document was left

  openedAt.current = opened;
  useEffect(() => { // an address was given: what waits to be written is of the page before
    clearTimeout(written.current.timer);
    written.current.hash = location.hash;
    setOpened(openedAt.current = asked);
    turnTo(asked);
  }, [base, asked, highlight, visit]);
  const last = info?.pages || 1e6, number = Math.min(Math.max(page, 1), last);
  const view = chosen || (SPREADSHEETS.has(info?.format) && !highlight && !boxes && !words && !plain.has(number) ? "tables" : "page");
  const shown = view === "page" && blind.has(number) ? "text" : view;
  const aim = useRef(number); // two keys may come before the page is drawn again: the second goes on from the first
  aim.current = number;
  const turnTo = (/** @type {number} */ wanted) => {
    const to = Math.min(Math.max(wanted, 1), last);
    aim.current = to;
    marked.current = "";
    setPage(to);
    moveTo({ page: to, share: 0 }, to);
  };
  const roomy = room.width >= WIDE && last > 1, columns = pair && roomy ? 2 : 1;
  const turnBy = (/** @type {number} */ steps) => { // from row to row
    const wide = shown === "page" ? columns : 1;
    turnTo(firstOfRow(aim.current, wide) + steps * wide);
  };
  const typical = sizes.get(opened) ?? sizes.values().next().value ?? A4, sizeOf = (/** @type {number} */ one) => sizes.get(one) ?? typical;
  const sized = (/** @type {number} */ one, /** @type {typeof A4} */ now) => setSizes((before) => {
    const old = before.get(one);
    return old && Math.abs(old.width - now.width) + Math.abs(old.height - now.height) < 2 ? before : new Map(before).set(one, now);
  });
  const sideways = turn % 180 !== 0, wide = Math.max((room.width - ROOM - (columns - 1) * GAP) / columns, 120), high = Math.max(room.height - ROOM, 120);
  const widthOf = (/** @type {typeof A4} */ size, how = fit) => {
    const natural = (size.width * 96) / 72, ratio = size.height / size.width;
    const fits = { calm: Math.min(sideways ? wide / ratio : wide, natural * 1.3), width: sideways ? wide / ratio : wide, page: sideways ? Math.min(high, wide / ratio) : Math.min(wide, high / ratio) };
    return typeof how === "number" ? natural * how : Math.min(fits[how], natural * 2.5);
  };
  const roomOf = (/** @type {number} */ one) => {
    const size = sizeOf(one), width = widthOf(size), height = (width * size.height) / size.width;
    return sideways ? { width: height, height: width } : { width, height };
  };
  const { stage, sheets, places, range, measure, moveTo } = usePageScroll({
    count: info?.pages ?? 0, columns, heightOf: (one) => roomOf(one).height, on: [sizes, typical, fit, turn, wide, high, base], active: state === "ready" && shown === "page", page: number,
    onPage: setPage, onMove: (anchor) => keepPlace(anchor),
  });
  /** The middle of a page, from the middle of all. @param {number} one */
  const shiftOf = (one) => (columns > 1 ? ((one % 2 ? -1 : 1) * (roomOf(one).width + GAP)) / 2 : 0);
  const near = shown === "page" ? Array.from({ length: range.last - range.first + 1 }, (_, at) => range.first + at).filter((one) => one <= last) : [];
  const beside = drawn.has(number) ? near.filter((one) => one !== number) : []; // the page that is read comes before its neighbours
  const pageOf = usePages(base, info, [number, ...beside]), { read, layout, failed } = pageOf(number);
  for (const one of [number, ...beside]) begun.current.add(one);
  const found = useFind(base, words, number, turnTo);
  const cited = useQuote(base, number, boxes ? "" : highlight, state === "ready" && number === opened && view === "page");
  const marks = (number === opened && (boxes || cited)) || [];

  useEffect(() => {
    for (const one of near) if (pageOf(one).layout?.width) sized(one, pageOf(one).layout);
  });
  useEffect(() => {
    begun.current.clear();
    setSizes(new Map());
    setDrawn(new Set());
    setBlind(new Set());
    setPlain(new Set());
  }, [base, info?.content_id]);
  useEffect(() => {
    if (view === "tables" && !chosen && layout && !layout.tables.length) setPlain((before) => new Set(before).add(number));
  }, [view, layout]);
  /** The address names the page that is read, and the history the place on it; browsers take few such changes at a time. */
  const keepPlace = (anchor = history.state?.reading) => {
    if (embedded || state !== "ready") return;
    clearTimeout(written.current.timer);
    const write = () => {
      if (!isAtDoc(library, doc) || location.hash !== written.current.hash) return; // the reader has gone elsewhere, and the address is not this view's
      const target = aim.current; // where a key or an address led, though it is not drawn yet
      history.replaceState({ ...history.state, reading: { base, ...anchor } }, "", pageLink(library, doc, target, target === openedAt.current ? highlight : ""));
      Object.assign(written.current, { at: Date.now(), hash: location.hash });
      keepPage(base, target);
    };
    if (Date.now() - written.current.at > OFTEN) write();
    else written.current.timer = setTimeout(write, OFTEN);
  };
  useEffect(() => keepPlace(), [number, state]);
  useEffect(() => () => clearTimeout(written.current.timer), [base]);
  useEffect(() => { // who comes back, or loads the page anew, finds the place where it was left
    if (state === "ready" && !embedded && !highlight && left?.base === base && left.page <= last && Math.abs(left.page - asked) <= 1) moveTo({ page: left.page, share: left.share });
  }, [state === "ready"]);
  const measureRoom = () => {
    if (!reading.current || !stage.current) return;
    const { paddingLeft, paddingRight, paddingTop, paddingBottom } = getComputedStyle(stage.current);
    setRoom({
      width: stage.current.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight),
      height: reading.current.clientHeight - parseFloat(paddingTop) - parseFloat(paddingBottom),
    });
  };
  useLayoutEffect(() => { // before it is painted: the first page must not jump
    measureRoom();
    if (!reading.current) return;
    const watch = new ResizeObserver(measureRoom);
    watch.observe(reading.current);
    return () => watch.disconnect();
  }, [state]);
  useEffect(() => {
    if (stage.current && shown !== "page") stage.current.scrollTop = fromBelow.current ? stage.current.scrollHeight : 0;
    fromBelow.current = false;
  }, [number]);
  const here = found.matches.filter((match) => match.page === number), now = found.matches[found.at];
  const hitsOf = (/** @type {number} */ one) => {
    const all = pageOf(one).layout?.words.length ? placesOf(pageOf(one).layout.words, words) : [];
    const matches = found.matches.filter((match) => match.page === one);
    return { hits: all.flat(), now: now?.page === one ? all[Math.min(matches.indexOf(now), all.length - 1)] || [] : [] };
  };
  const counts = useMemo(() => {
    const made = new Map();
    for (const match of found.matches) made.set(match.page, (made.get(match.page) || 0) + 1);
    if ((highlight || boxes?.length) && !made.has(opened)) made.set(opened, 1);
    return made;
  }, [found.matches, highlight, opened]);

  const scaleOf = (how = fit) => widthOf(sizeOf(number), how) / ((sizeOf(number).width * 96) / 72), scale = scaleOf();
  const zoom = (by) => setFit((before) => {
    const scale = scaleOf(before);
    return by > 0 ? STEPS.find((one) => one > scale + 0.01) || 4 : [...STEPS].reverse().find((one) => one < scale - 0.01) || 0.25;
  });
  const toggleView = (/** @type {string} */ other) => setView((before) => ((before || view) === other ? "page" : other)); // two keys may come before the page is drawn
  const say = (text) => {
    setTold(text);
    setTimeout(() => setTold((before) => (before === text ? "" : before)), 2500);
  };
  const copy = (text) => navigator.clipboard.writeText(text).then(() => say(t("viewer.copied")), () => say(t("viewer.not_copied")));
  const selected = () => [...root.current?.querySelectorAll(".text-layer") ?? []]
    .map((layer) => selectedText(layer, pageOf(Number(layer.dataset.layer)).layout?.words || [])).filter(Boolean).join("\n")
    || (view === "text" && stage.current?.contains(document.getSelection()?.anchorNode ?? null) ? String(document.getSelection()) : "");
  const quoted = () => selected() || (number === opened ? highlight : "") || now?.snippet || "";
  const keep = () => {
    const words = quoted() || read?.text.slice(0, 2000) || "", title = sectionsOf(read) || info.title || info.name;
    const text = `${words.trim()}\n\n${t("viewer.citation", { name: info.title || info.name, page: number })}`;
    post(at("libraries", library, "notes"), { title: title.slice(0, 200), text, document: doc, page: number })
      .then(() => say(t("conversation.saved")), (error) => say(`${error.message} ${error.advice ?? ""}`));
  };
  const kept = useHighlights({ library, doc, content: state === "ready" ? info.content_id : "", say });
  const mark = () => kept.toggle(shown === "text" ? passageOfText(stage.current, number) : passagesOf(root.current, (one) => pageOf(one).layout));
  const cite = () => {
    const quote = quoted();
    const path = sectionsOf(read), link = location.href.split("#")[0] + pageLink(library, doc, number, quote.slice(0, 300));
    const label = read?.label && read.label !== String(number) ? ` (${read.label})` : "";
    copy(`${quote ? `“${quote.replace(/\s+/g, " ").trim()}”\n` : ""}${t("viewer.citation", { name: info.title || info.name, page: number })}${label}${path ? `, ${path}` : ""}\n${link}`);
  };
  const act = {
    page: turnTo, turnBy, zoom, fit: setFit, rotate: () => setTurn((before) => (before + 90) % 360), view: setView, cite, keep, mark, marked: info?.format === "pdf" && kept.notes.length > 0, original: address(`${base}/original`), map: link(["map", library, doc]),
    strip: () => setStrip((before) => !before),
    pair: () => roomy && setPair((before) => {
      if (!embedded) remember("two pages", before ? "" : "1");
      return !before;
    }),
    contents: () => setContents((before) => {
      if (!embedded) remember("contents", before ? "" : "1");
      return !before;
    }), find: () => setFinding(true), keys: () => setHelp(true),
  };
  useLayoutEffect(() => { // at once: a key after what is seen must find it
    const keys = (event) => {
      if (embedded && !root.current?.contains(event.target)) return;
      const action = state === "ready" && actionOf(event);
      const does = action && {
        next: () => turnBy(1), previous: () => turnBy(-1), first: () => turnTo(1), last: () => turnTo(last), larger: () => zoom(1),
        smaller: () => zoom(-1), fit_width: () => setFit("width"), fit_page: () => setFit("page"), rotate: act.rotate, pages: act.strip, two_pages: act.pair, contents: act.contents, cite, keep: act.keep, highlight: mark,
        view_text: () => toggleView("text"), view_tables: () => toggleView("tables"),
        hit_after: () => found.step(1), hit_before: () => found.step(-1), go_to: () => root.current.querySelector(".go-to").focus(), keys: act.keys,
        find: () => { setFinding(true); root.current.querySelector(".find-bar input")?.focus(); },
        leave: () => (finding ? leaveFind() : onClose?.()),
      }[action];
      if (!does) return;
      event.preventDefault();
      does();
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  });
  useEffect(() => {
    const copied = (/** @type {ClipboardEvent} */ event) => {
      const text = shown === "page" && selected();
      if (!text) return;
      event.clipboardData?.setData("text/plain", text);
      event.preventDefault();
    };
    document.addEventListener("copy", copied);
    return () => document.removeEventListener("copy", copied);
  });
  /** Bring a mark into sight, once. @param {number} one @param {number[]} box @param {HTMLElement | null} element */
  const showMark = (one, box, element) => {
    const key = `${one} ${visit} ${box.join()}`;
    if (!element || marked.current === key) return;
    marked.current = key;
    element.scrollIntoView({ block: "center", inline: "nearest" });
    measure();
  };
  const leafTo = (/** @type {number} */ wanted, quote = "") => (quote && !embedded ? go(pageLink(library, doc, wanted, quote.slice(0, 300))) : turnTo(wanted));
  const wheel = (/** @type {WheelEvent} */ event) => { // on at the end of a page is the next one
    const { scrollTop, scrollHeight, clientHeight } = stage.current, down = event.deltaY > 0;
    if (shown === "page" || event.ctrlKey || !event.deltaY || (down ? scrollTop + clientHeight < scrollHeight - 2 : scrollTop > 1)) return void (pushed.current = { by: 0, at: event.timeStamp });
    const { by, at } = pushed.current;
    pushed.current = { by: event.timeStamp - at > PAUSE ? event.deltaY : by + event.deltaY, at: event.timeStamp };
    if (Math.abs(pushed.current.by) < PUSH || number + (down ? 1 : -1) > last || number + (down ? 1 : -1) < 1) return;
    pushed.current = { by: 0, at: event.timeStamp };
    fromBelow.current = !down;
    turnBy(down ? 1 : -1);
  };
  const leaveFind = () => {
    setFinding(false);
    setWords("");
    stage.current?.focus();
  };

  if (state !== "ready") return html`<section class="viewer" ref=${root}><${State} state=${state} info=${info} error=${error} library=${library} onAgain=${() => look(true)} onClose=${onClose} /></section>`;
  const silent = read && !read.text.trim(), path = sectionsOf(read);
  const bare = shown === "text" && view === "page";
  return html`<section class=${`viewer${embedded ? " embedded" : ""}`} ref=${root} aria-label=${t("viewer.name", { name: info.name })}>
    <header class="heading">
      <div class="title"><h1 title=${info.path}>${info.title || info.name}</h1>
        <p class="path">${path || info.name}${read?.label && read.label !== String(number) ? html` <span class="label">${t("viewer.label", { label: noteText(read.label, read.label_code) })}</span>` : null}</p></div>
      ${!embedded && highlight && remembered("results", "session") && html`<a class="small" href=${remembered("results", "session")}>← ${t("viewer.results")}</a>`}
      ${onClose && html`<${IconButton} icon="close" label=${t("viewer.close")} keys="Esc" onClick=${onClose} />`}
    </header>
    <${Toolbar} info=${info} page=${number} view=${shown} tables=${layout?.tables.length || 0} act=${act} zoom=${Math.round(scale * 100)} strip=${strip} pair=${roomy ? columns > 1 : undefined} contents=${contents} embedded=${embedded} />
    ${finding && html`<${FindBar} words=${words} found=${found} onWords=${setWords} onClose=${leaveFind} />`}
    ${newer && html`<p class="notice" role="status">${t("viewer.changed")} <button type="button" class="quiet-button" onClick=${() => look(true)}>${t("viewer.show_newer")}</button></p>`}
    ${!note && cited === null && html`<p class="notice" role="status">${t("viewer.quote_not_here")}</p>`}
    ${note && html`<p class="notice" role="status">${note}</p>`}
    <div class="body">
      ${contents && html`<${Contents} base=${base} library=${library} doc=${doc} info=${info} page=${number} highlights=${kept.highlights} onRemove=${kept.remove} onPage=${leafTo} />`}
      ${strip && html`<${Thumbnails} base=${base} info=${info} page=${number} counts=${counts} wait=${shown === "page" && !drawn.has(number)} onPage=${turnTo} onStep=${turnBy} />`}
      <div class="reading" ref=${reading}>
      <div class=${`stage ${shown}`} ref=${stage} tabindex="0" role="region" aria-label=${t("viewer.page", { page: number })} onWheel=${wheel}>
        ${shown === "page" && html`<div class="sheets" ref=${sheets}
          style=${{ height: `${places.tops[info.pages + 1]}px`, width: `${columns * Math.max(...near.map((one) => roomOf(one).width), 0) + (columns - 1) * GAP}px` }}>
          ${near.map((one) => html`<${Sheet} key=${one} base=${base} info=${info} number=${one} layout=${pageOf(one).layout?.width ? pageOf(one).layout : null}
            size=${sizeOf(one)} onSize=${sized} width=${widthOf(sizeOf(one))} top=${places.tops[one]} shift=${shiftOf(one)} turn=${turn} current=${one === number}
            begun=${begun.current.has(one)} kept=${boxesOf(kept.highlights, one, pageOf(one).layout)} marks=${one === opened ? marks : []} onMark=${showMark} ...${hitsOf(one)}
            onDrawn=${(/** @type {number} */ page) => setDrawn((before) => (before.has(page) ? before : new Set(before).add(page)))}
            onFail=${() => { setBlind((before) => new Set(before).add(one)); look(false); }} />`)}</div>`}
        ${shown === "text" && read && html`${bare && html`<p class="notice">${t("viewer.no_picture")}</p>`}<${PageText} text=${read.text} quote=${number === opened ? highlight : ""} matches=${here} now=${now} highlights=${kept.highlights.filter((one) => one.page === number)} />`}
        ${shown === "tables" && layout && html`<div class=${`tables${SPREADSHEETS.has(info.format) ? " grid" : ""}`}><${Tables} tables=${layout.tables} onCopy=${copy} /></div>`}
      </div>
      <div class="page-notes">
        ${failed && html`<p class="notice">${failed.message} ${failed.advice || ""}</p>`}
        ${silent && html`<p class="notice under">${t(read.needs_ocr ? "viewer.no_text_ocr" : "viewer.no_text")}</p>`}
        ${read?.hidden_text?.length > 0 && html`<details class="notice under hidden-text"><summary>${t("viewer.hidden")}</summary><p>${t("viewer.hidden_lines")}</p><ul>${read.hidden_text.map((line) => html`<li>${line}</li>`)}</ul></details>`}
        ${read?.read_by && shown !== "tables" && html`<p class="quiet under">${t("viewer.read_by", { who: read.read_by })}</p>`}
      </div>
      </div>
    </div>
    <p class="toast" role="status" aria-live="polite">${told}</p>
    ${help && html`<${KeysHelp} onClose=${() => setHelp(false)} />`}
  </section>`;
}
