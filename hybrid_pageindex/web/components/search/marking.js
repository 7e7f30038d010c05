// The words of a question in a passage, and the part of it that is marked.

const WORD = /[\p{L}\p{N}]+(?:[.,'’-][\p{L}\p{N}]+)*/gu;
const CJK = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]/;
const ENDING = 6; // letters that a word may have beyond its stem

/** @param {string} word in small letters @param {string} term a stem, as receipts have them */
function inflects(word, term) {
  if (word === term) return true;
  const stem = term.length > 3 ? term.replace(/[iey]$/, "") : term;
  return stem.length > 2 && word.startsWith(stem) && word.length - stem.length <= ENDING && !/\d/.test(term);
}

/**
 * Where terms stand in a text, in order and apart.
 * @param {string} text @param {Record<string, number>} terms with what each added
 * @returns {{ from: number, to: number, term: string }[]}
 */
export function places(text, terms) {
  const names = Object.keys(terms), latin = names.filter((one) => !CJK.test(one)), found = [];
  for (const term of names.filter((one) => CJK.test(one))) {
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + 1)) found.push({ from: at, to: at + term.length, term });
  }
  for (const match of text.matchAll(WORD)) {
    const word = match[0].toLowerCase(), parts = [word, ...word.split(/[.,'’-]/)];
    const term = latin.find((one) => parts.some((part) => inflects(part, one)));
    if (term && !CJK.test(word)) found.push({ from: match.index, to: match.index + match[0].length, term });
  }
  found.sort((one, other) => one.from - other.from);
  /** @type {typeof found} */ const apart = [];
  for (const one of found) {
    const last = apart[apart.length - 1];
    if (last && one.from < last.to) last.to = Math.max(last.to, one.to);
    else apart.push({ ...one });
  }
  return apart;
}

/**
 * A passage in parts: what stands before the mark, the mark (`best`), what stands after it; each in words.
 * @param {string} text @param {string} mark @param {Record<string, number>} terms
 * @returns {{ best: boolean, words: { text: string, marked: boolean }[] }[]}
 */
export function pieces(text, mark, terms) {
  const at = mark ? text.indexOf(mark) : -1;
  if (at < 0) return [{ best: false, words: wordsOf(text, terms) }];
  const parts = [text.slice(0, at), mark, text.slice(at + mark.length)];
  return parts.map((part, number) => ({ best: number === 1, words: wordsOf(part, terms) }));
}

/** @param {string} text @param {Record<string, number>} terms */
function wordsOf(text, terms) {
  const words = [];
  let at = 0;
  for (const { from, to } of places(text, terms)) {
    if (from > at) words.push({ text: text.slice(at, from), marked: false });
    words.push({ text: text.slice(from, to), marked: true });
    at = to;
  }
  if (at < text.length) words.push({ text: text.slice(at), marked: false });
  return words;
}
