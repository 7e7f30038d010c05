// The section trees of the best documents as the engine saw them: shaded by NodeScore, opened down to pages.
import { useAnswer } from "../../answers.js";
import { get, query } from "../../api.js";
import { t } from "../../i18n.js";
import { pageLink } from "../../router.js";
import { html, useEffect, useState } from "../../ui.js";
import { documentPath } from "../viewer/addresses.js";

const MOST_PAGES = 40; // of one section that are shown as links
const DEEPEST = 0.9; // how dark the best section is, 1 for the full colour

/** @param {any[]} nodes @returns {number} the highest NodeScore among them and all below */
const best = (nodes) => nodes.reduce((most, one) => Math.max(most, one.node_score ?? 0, best(one.nodes ?? [])), 0);

/** The way down to a section: these are open at first. @param {any[]} nodes @param {string} id @returns {string[]} */
function wayTo(nodes, id) {
  for (const one of nodes) {
    const below = one.node_id === id ? [] : wayTo(one.nodes ?? [], id);
    if (one.node_id === id || below.length) return [one.node_id, ...below];
  }
  return [];
}

/** @param {any} props */
function Pages({ node, library, doc }) {
  const many = node.end_page - node.start_page + 1, shown = Math.min(many, MOST_PAGES);
  return html`<p class="node-pages">${Array.from({ length: shown }, (_, index) => node.start_page + index).map((page) => html`<a key=${page}
      class=${node.best_pages?.includes(page) ? "found" : ""} href=${pageLink(library, doc, page)} aria-label=${t(node.best_pages?.includes(page) ? "search.page_found" : "viewer.page", { page })}>${page}</a>`)}
    ${many > shown && html`<a href=${pageLink(library, doc, node.start_page + shown)}>…</a>`}</p>`;
}

/** @param {any} props */
function Node({ node, most, library, doc, open, onToggle }) {
  const share = most > 0 ? (node.node_score ?? 0) / most : 0, opened = open.has(node.node_id), inner = node.nodes ?? [];
  const pages = node.start_page === node.end_page ? `${node.start_page}` : `${node.start_page}–${node.end_page}`;
  return html`<li>
    <button type="button" class="node" aria-expanded=${String(opened)} style=${`--share:${(share * DEEPEST).toFixed(3)}`} onClick=${() => onToggle(node.node_id)}
      title=${`${t("search.node_score")} ${(node.node_score ?? 0).toFixed(3)}`}>
      <span class="node-title">${node.title}</span><span class="node-where">${pages}</span>
      <meter min="0" max="1" value=${share} aria-label=${t("search.node_score")}>${(node.node_score ?? 0).toFixed(2)}</meter></button>
    ${opened && html`<div class="node-inner">
      ${!inner.length || node.best_pages?.length ? html`<${Pages} node=${inner.length ? { ...node, start_page: node.start_page, end_page: Math.min(node.end_page, inner[0].start_page) } : node} library=${library} doc=${doc} />` : null}
      ${inner.length > 0 && html`<ul>${inner.map((/** @type {any} */ one) => html`<${Node} key=${one.node_id} node=${one} most=${most} library=${library} doc=${doc} open=${open} onToggle=${onToggle} />`)}</ul>`}
    </div>`}
  </li>`;
}

/** @param {{ library: string, doc: string, name: string, node: string, question: string, first: boolean }} props */
function Tree({ library, doc, name, node, question, first }) {
  const [open, setOpen] = useState(() => new Set()), [shown, setShown] = useState(first);
  const { answer: tree, wrong } = useAnswer((signal) => get(`${documentPath(library, doc)}/outline${query({ q: question })}`, signal), [library, doc, question], { fresh: true, skip: !shown });
  useEffect(() => void (tree && setOpen(new Set(wayTo(tree.nodes, node)))), [tree]);
  const toggle = (/** @type {string} */ id) => setOpen((before) => {
    const now = new Set(before);
    if (!now.delete(id)) now.add(id);
    return now;
  });
  return html`<details class="tree" open=${shown} onToggle=${(/** @type {any} */ event) => setShown(event.target.open)}>
    <summary><span>${tree?.title || name}</span></summary>
    ${wrong && html`<p class="bad small">${wrong.message}</p>`}
    ${shown && !tree && !wrong && html`<div class="lines" aria-busy="true"><i /><i /><i /></div>`}
    ${tree && html`<ul class="nodes">${tree.nodes.map((/** @type {any} */ one) => html`<${Node} key=${one.node_id} node=${one} most=${best(tree.nodes)} library=${library} doc=${doc} open=${open} onToggle=${toggle} />`)}</ul>`}
    ${tree && best(tree.nodes) === 0 && html`<p class="muted small">${t("search.outline_none")}</p>`}
  </details>`;
}

/** @param {{ documents: { doc_id: string, doc_name: string, doc_title: string, library: string, hits: any[] }[], question: string }} props */
export function ScoredOutline({ documents, question }) {
  return html`<aside class="scored" aria-label=${t("search.outline")}>
    <h2>${t("search.outline")}</h2><p class="muted small">${t("search.outline_more")}</p>
    ${documents.map((one, number) => html`<${Tree} key=${one.doc_id + one.library} library=${one.library} doc=${one.doc_id} name=${one.doc_title || one.doc_name} node=${one.hits[0].section.node_id} question=${question} first=${number === 0} />`)}
  </aside>`;
}
