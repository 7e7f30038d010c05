// Words of a document that readers marked: notes with a quote, kept by the server.
import { at, change, get, post, query } from "../../api.js";
import { t } from "../../i18n.js";
import { useEffect, useState } from "../../ui.js";
import { matchesOf, patternOf, selectedWords } from "./placing.js";

/** @typedef {{ id: string, text: string, page: number, quote: string, occurrence: number, content_id: string }} Highlight */

/** @param {{ library: string, doc: string, content: string, say: (text: string) => void }} props */
export function useHighlights({ library, doc, content, say }) {
  const [notes, setNotes] = useState(/** @type {Highlight[]} */ ([])), path = at("libraries", library, "notes");
  const look = (/** @type {AbortSignal} */ signal) => get(path + query({ document: doc }), signal).then(setNotes);
  useEffect(() => {
    setNotes([]);
    if (!content) return;
    const stop = new AbortController(), back = () => look(stop.signal).catch(() => null);
    back();
    addEventListener("focus", back); // another window may have marked words
    return () => (stop.abort(), removeEventListener("focus", back));
  }, [library, doc, content]);
  const highlights = notes.filter((note) => note.quote);
  const remove = (/** @type {Highlight} */ one) => change("DELETE", `${path}/${one.id}`).then(() => {
    setNotes((before) => before.filter((note) => note.id !== one.id));
    say(t("viewer.highlight_removed"));
  });
  /** Mark passages; those that are marked already lose their marks. @param {{ page: number, quote: string, occurrence: number }[]} passages */
  const toggle = async (passages) => {
    if (!passages.length) return say(t("viewer.select_first"));
    const marked = passages.map((passage) => highlights.find((one) => one.page === passage.page && one.quote === passage.quote && one.occurrence === passage.occurrence));
    try {
      if (marked.every(Boolean)) return void (await Promise.all(marked.map((one) => one && remove(one))));
      for (const passage of passages.filter((_, order) => !marked[order])) {
        const note = await post(path, { title: "", text: "", document: doc, content_id: content, ...passage });
        setNotes((before) => [note, ...before]);
      }
      document.getSelection()?.removeAllRanges();
      say(t("viewer.highlighted"));
    } catch (/** @type {any} */ error) {
      say(`${error.message} ${error.advice ?? ""}`);
    }
  };
  return { notes, highlights, toggle, remove: (/** @type {Highlight} */ one) => remove(one).catch((error) => say(`${error.message} ${error.advice ?? ""}`)) };
}

/** The boxes of a page's highlights. @param {Highlight[]} highlights @param {number} page @param {any} layout */
export const boxesOf = (highlights, page, layout) => !layout?.words.length ? [] : highlights.filter((one) => one.page === page).flatMap((one) => {
  const matches = matchesOf(layout.words, one.quote);
  return matches[Math.min(one.occurrence, matches.length - 1)]?.boxes ?? [];
});

/** What is selected on the pages' pictures, one passage a page. @param {any} root @param {(page: number) => any} layoutOf */
export const passagesOf = (root, layoutOf) => [...root?.querySelectorAll(".text-layer") ?? []].flatMap((layer) => {
  const page = Number(layer.dataset.layer), words = layoutOf(page)?.words ?? [], { text, first } = selectedWords(layer, words);
  if (!text.trim()) return [];
  return [{ page, quote: text, occurrence: Math.max(matchesOf(words, text).findIndex((match) => match.first === first), 0) }];
});

/** What is selected in a page's text. @param {any} stage @param {number} page */
export function passageOfText(stage, page) {
  const shown = stage?.querySelector(".page-text"), selection = document.getSelection();
  if (!shown || !selection?.rangeCount || selection.isCollapsed || !shown.contains(selection.anchorNode) || !shown.contains(selection.focusNode)) return [];
  const range = selection.getRangeAt(0), before = document.createRange(), text = range.toString();
  before.setStart(shown, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const begin = before.toString().length + text.search(/\S/), pattern = patternOf(text);
  if (!pattern) return [];
  const places = [...shown.textContent.matchAll(pattern)].map((match) => match.index);
  return [{ page, quote: text.trim(), occurrence: Math.max(places.indexOf(begin), 0) }];
}

/** Where highlights stand in a page's text. @param {Highlight[]} highlights @param {string} text */
export const rangesOf = (highlights, text) => highlights.flatMap((one) => {
  const pattern = patternOf(one.quote), places = pattern ? [...text.matchAll(pattern)] : [];
  const match = places[Math.min(one.occurrence, places.length - 1)];
  return match ? [{ start: match.index, end: match.index + match[0].length, kind: "lit" }] : [];
});
