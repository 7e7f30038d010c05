/** Where words stand among the words of a layout. @typedef {{text: string, box: number[]}} WordBox */

const WIDE = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u3040-\u30ff]/;
const both = (left, right) => WIDE.test(left) && WIDE.test(right);

/** Whether a word begins a new line: it stands lower than the one before, or further left. */
export function breaksLine(before, word) {
  if (!before) return false;
  const [, top, , bottom] = before.box, middle = (word.box[1] + word.box[3]) / 2;
  return middle > bottom || middle < top || word.box[0] < before.box[0];
}

/** What stands between two words when they are copied. */
export function between(before, word) {
  if (!before || word.text === "") return "";
  if (breaksLine(before, word)) return "\n";
  return both(before.text.slice(-1), word.text.slice(0, 1)) ? "" : " ";
}

/** A pattern of words as they are written, whatever the case and the white space between them; null for none. */
export function patternOf(asked) {
  const words = asked.trim().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(escaped.join("\\s+"), "giu");
}

/** For each place where words stand, its boxes. @param {WordBox[]} words @param {string} asked @returns {number[][][]} */
export const placesOf = (words, asked) => matchesOf(words, asked).map((match) => match.boxes);

/** For each place where words stand, the number of its first word and its boxes; a part of a word has that part of its box.
 * @param {WordBox[]} words @param {string} asked @returns {{ first: number, boxes: number[][] }[]} */
export function matchesOf(words, asked) {
  const pattern = patternOf(asked);
  if (!pattern) return [];
  let text = "";
  /** @type {number[]} */ const owner = [];
  const starts = words.map((word, at) => {
    const gap = between(words[at - 1], word), begin = text.length + gap.length;
    text += gap + word.text;
    for (let i = 0; i < gap.length; i++) owner.push(-1);
    for (let i = 0; i < word.text.length; i++) owner.push(at);
    return begin;
  });
  return [...text.matchAll(pattern)].map((match) => {
    const end = match.index + match[0].length;
    const touched = [...new Set(owner.slice(match.index, end))].filter((at) => at >= 0);
    const boxes = joined(touched.map((at) => {
      const { box, text: said } = words[at], wide = box[2] - box[0];
      const from = Math.max(match.index - starts[at], 0) / said.length, to = Math.min(end - starts[at], said.length) / said.length;
      return [box[0] + from * wide, box[1], box[0] + to * wide, box[3]];
    }));
    return { first: touched[0], boxes };
  });
}

/** Boxes beside each other on one line, made one. */
function joined(boxes) {
  /** @type {number[][]} */ const lines = [];
  for (const box of boxes) {
    const last = lines[lines.length - 1], middle = (box[1] + box[3]) / 2;
    if (last && middle > last[1] && middle < last[3] && box[0] >= last[0]) {
      lines[lines.length - 1] = [last[0], Math.min(last[1], box[1]), Math.max(last[2], box[2]), Math.max(last[3], box[3])];
    } else lines.push(box);
  }
  return lines;
}

/** The words that a selection touches, as they are read. */
export const selectedText = (layer, words) => selectedWords(layer, words).text;

/** The words that a selection touches, and the number of the first. */
export function selectedWords(layer, words) {
  const selection = document.getSelection();
  let text = "", before = null, first = -1;
  if (!layer || !selection || selection.isCollapsed || !selection.rangeCount) return { text, first };
  for (const span of layer.querySelectorAll("[data-word]")) {
    if (!selection.containsNode(span, true)) continue;
    const number = Number(span.getAttribute("data-word")), word = words[number];
    if (!before) first = number;
    text += before ? between(before, word) + word.text : word.text;
    before = word;
  }
  return { text, first };
}
