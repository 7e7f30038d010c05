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

/** For each place where words stand, its boxes; a part of a word has that part of its box.
 * @param {WordBox[]} words @param {string} asked @returns {number[][][]} */
export function placesOf(words, asked) {
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
    return joined(touched.map((at) => {
      const { box, text: said } = words[at], wide = box[2] - box[0];
      const from = Math.max(match.index - starts[at], 0) / said.length, to = Math.min(end - starts[at], said.length) / said.length;
      return [box[0] + from * wide, box[1], box[0] + to * wide, box[3]];
    }));
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
export function selectedText(layer, words) {
  const selection = document.getSelection();
  if (!layer || !selection || selection.isCollapsed || !selection.rangeCount) return "";
  let text = "", before = null;
  for (const span of layer.querySelectorAll("[data-word]")) {
    if (!selection.containsNode(span, true)) continue;
    const word = words[Number(span.getAttribute("data-word"))];
    text += before ? between(before, word) + word.text : word.text;
    before = word;
  }
  return text;
}
