import { html, useMemo } from "../../ui.js";
import { between } from "./placing.js";

const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/** How much wider a word's box is than the word in the layer's letters. */
function stretch(word) {
  const high = word.box[3] - word.box[1];
  pen.font = `${Math.max(high, 1)}px sans-serif`;
  const wide = pen.measureText(word.text).width;
  return wide ? (word.box[2] - word.box[0]) / wide : 1;
}

/** The page's words as letters that nobody sees, each over its place in the picture: they are selected and read aloud. */
export function TextLayer({ layout, page }) {
  const words = useMemo(() => layout.words.map((word, at) => {
    const [x0, y0, , y1] = word.box, style = {
      left: `${(100 * x0) / layout.width}%`, top: `${(100 * y0) / layout.height}%`,
      fontSize: `${(100 * (y1 - y0)) / layout.height}cqh`, transform: `scaleX(${stretch(word).toFixed(4)})`,
    };
    return word.text ? html`${between(layout.words[at - 1], word)}<span data-word=${at} style=${style}>${word.text}</span>` : null;
  }), [layout]);
  return html`<div class="text-layer" data-layer=${page}>${words}</div>`;
}
