// The words of a question in a passage, and the sentence or row of it that matches best.

const WORD = /[\p{L}\p{N}]+(?:[.,'’-][\p{L}\p{N}]+)*/gu;
const CJK = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]/;
const PIECES = /(?<=[.!?;])\s+(?=[\p{Lu}\p{N}"“(])|(?<=[。！？；])|(?<=…)\s+|\n+/gu;
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
 * A passage in pieces, sentences or rows; `best` is the one whose terms added most.
 * @param {string} text @param {Record<string, number>} terms
 * @returns {{ text: string, best: boolean, words: { text: string, marked: boolean }[] }[]}
 */
export function pieces(text, terms) {
  const parts = text.split(PIECES).map((one) => one.trim()).filter(Boolean);
  const made = parts.map((part) => {
    const found = places(part, terms), words = [];
    let at = 0;
    for (const { from, to } of found) {
      if (from > at) words.push({ text: part.slice(at, from), marked: false });
      words.push({ text: part.slice(from, to), marked: true });
      at = to;
    }
    if (at < part.length) words.push({ text: part.slice(at), marked: false });
    const held = new Set(found.map((one) => one.term));
    return { text: part, words, best: false, weight: [...held].reduce((sum, term) => sum + terms[term], 0) };
  });
  const best = made.reduce((/** @type {any} */ most, one) => (one.weight > (most?.weight ?? 0) ? one : most), null);
  if (best) best.best = true;
  return made;
}
