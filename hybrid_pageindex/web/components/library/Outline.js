// The sections of a document as a tree that opens; each leads to its page.
import { useAnswer } from "../../answers.js";
import { get } from "../../api.js";
import { t } from "../../i18n.js";
import { pageLink } from "../../router.js";
import { html, useEffect, useMemo, useRef, useState } from "../../ui.js";
import { documentPath } from "../viewer/addresses.js";

const FEW = 12; // sections at the top that open by themselves

/** @typedef {{ node_id: string, title: string, start_page: number, end_page: number, summary?: string, nodes?: Node[] }} Node */

/** The lines that can be seen, in order. @param {Node[]} nodes @param {Set<string>} open @returns {{ node: Node, level: number, above: string }[]} */
const linesOf = (nodes, open, level = 1, above = "") =>
  nodes.flatMap((node) => [{ node, level, above }, ...(open.has(node.node_id) ? linesOf(node.nodes ?? [], open, level + 1, node.node_id) : [])]);

/** The way down to the section that a page lies in: the deepest that begins last. @param {Node[]} nodes @param {number} page @returns {Node[]} */
function wayTo(nodes, page) {
  const node = nodes.filter((each) => each.start_page <= page && page <= each.end_page).at(-1);
  return node ? [node, ...wayTo(node.nodes ?? [], page)] : [];
}

/** @param {{ library: string, doc: string, content: string, page?: number, onPage?: (page: number) => void }} props
 * `page` is the one that is read: its section is shown; `onPage` turns to another instead of leaving this view */
export function Outline({ library, doc, content, page = 0, onPage }) {
  const { answer, wrong } = useAnswer((signal) => get(`${documentPath(library, doc)}/outline`, signal), [library, doc, content], { fresh: true });
  /** @type {Node[] | null} */
  const nodes = answer?.nodes ?? null;
  const [open, setOpen] = useState(() => new Set());
  const [current, setCurrent] = useState("");
  const tree = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => void (nodes && setOpen(new Set(nodes.length <= FEW ? nodes.slice(0, 1).map((one) => one.node_id) : []))), [nodes]);
  const here = useMemo(() => (page ? wayTo(nodes ?? [], page) : []), [nodes, page]);
  const read = here.at(-1)?.node_id ?? "";
  useEffect(() => void (here.length > 1 && setOpen((now) => new Set([...now, ...here.slice(0, -1).map((node) => node.node_id)]))), [read, nodes]);
  useEffect(() => void (read && tree.current?.querySelector(`[data-node="${read}"]`)?.scrollIntoView({ block: "nearest" })), [read, open]);
  const lines = useMemo(() => linesOf(nodes ?? [], open), [nodes, open]);
  if (wrong) return html`<p class="bad small" role="alert">${wrong.message}</p>`;
  if (!nodes) return html`<p class="muted small">${t("details.outline_loading")}</p>`;
  if (!nodes.length) return html`<p class="muted small">${t("details.no_outline")}</p>`;
  const turn = (/** @type {string} */ id, /** @type {boolean} */ on) => {
    const now = new Set(open);
    now[on ? "add" : "delete"](id);
    setOpen(now);
  };
  const focus = (/** @type {string | undefined} */ id) => {
    if (!id) return;
    setCurrent(id);
    /** @type {HTMLElement | null | undefined} */ (tree.current?.querySelector(`[data-node="${id}"]`))?.focus();
  };
  const keyed = (/** @type {KeyboardEvent} */ event) => {
    const at = lines.findIndex(({ node }) => node.node_id === /** @type {HTMLElement} */ (event.target).dataset.node);
    if (at < 0) return;
    const { node, above } = lines[at];
    const inner = Boolean(node.nodes?.length);
    const isOpen = open.has(node.node_id);
    const step = {
      ArrowDown: () => focus(lines[at + 1]?.node.node_id), ArrowUp: () => focus(lines[at - 1]?.node.node_id),
      Home: () => focus(lines[0].node.node_id), End: () => focus(lines[lines.length - 1].node.node_id),
      ArrowRight: () => (inner && !isOpen ? turn(node.node_id, true) : inner && focus(node.nodes?.[0].node_id)),
      ArrowLeft: () => (inner && isOpen ? turn(node.node_id, false) : focus(above)),
    }[event.key];
    if (!step) return;
    event.preventDefault();
    step();
  };
  const first = lines.some(({ node }) => node.node_id === current) ? current : lines[0].node.node_id;
  return html`<div class="outline-tree" role="tree" aria-label=${t("details.outline")} ref=${tree} onKeyDown=${keyed}>
    ${lines.map(({ node, level }) => {
      const inner = Boolean(node.nodes?.length);
      const isOpen = open.has(node.node_id);
      return html`<a key=${node.node_id} role="treeitem" data-node=${node.node_id} aria-level=${level} aria-expanded=${inner ? String(isOpen) : undefined}
        tabindex=${node.node_id === first ? 0 : -1} href=${pageLink(library, doc, node.start_page)} title=${node.summary || null} style=${`padding-left:${(level - 1) * 16}px`}
        aria-current=${node.node_id === read ? "true" : undefined} onFocus=${() => setCurrent(node.node_id)}
        onClick=${onPage && ((/** @type {MouseEvent} */ event) => { if (!event.ctrlKey && !event.metaKey) { event.preventDefault(); onPage(node.start_page); } })}>
        <span class="turn" aria-hidden="true" onClick=${inner && ((/** @type {Event} */ event) => (event.preventDefault(), event.stopPropagation(), turn(node.node_id, !isOpen)))}>${inner ? (isOpen ? "▾" : "▸") : ""}</span>
        <span class="outline-title">${node.title}</span><span class="muted small" title=${t("library.pages", { n: node.end_page - node.start_page + 1 })}>${node.start_page}${page && node.end_page > node.start_page ? `–${node.end_page}` : ""}</span></a>`;
    })}
  </div>`;
}
