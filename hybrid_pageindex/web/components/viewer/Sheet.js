import { headAgain } from "../../api.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../ui.js";
import { t } from "../../i18n.js";
import { picturePath, pictureOf } from "./addresses.js";
import { TextLayer } from "./TextLayer.js";

const TRIES = 4; // of a picture that the server has, and that is not shown

const percent = (value, whole) => `${(100 * value) / whole}%`;

function Boxes({ boxes, kind, size }) {
  return boxes.map(([x0, y0, x1, y1]) => html`<div class="box ${kind}" aria-hidden="true" style=${{
    left: percent(x0, size.width), top: percent(y0, size.height),
    width: percent(x1 - x0, size.width), height: percent(y1 - y0, size.height),
  }} />`);
}

/** One page: its picture, drawn sharper where it is shown large, with boxes and its words over it. `current`: it is the one
 * that is read; `begun`: its picture may be asked for; `onMark` is told where the first mark stands. */
export function Sheet({ base, info, number, layout, size, onSize, width, turn, top, shift, current, begun, kept, marks, hits, now, onMark, onDrawn, onFail }) {
  const [shown, setShown] = useState(""), [sharp, setSharp] = useState(""), [tries, setTries] = useState(1);
  const sheet = useRef(null);
  const plain = pictureOf(base, number, info.content_id, 1), fine = pictureOf(base, number, info.content_id, 2);
  const wanted = shown === plain && width * devicePixelRatio > size.width * (96 / 72) * 1.15;
  const sideways = turn % 180 !== 0, height = (width * size.height) / size.width, ready = shown === plain;
  const drawn = (event) => {
    setShown(plain);
    onSize(number, { width: (event.target.naturalWidth * 72) / 96, height: (event.target.naturalHeight * 72) / 96 });
    onDrawn(number);
  };
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const missing = () => { // a server that was busy is asked again; a page that cannot be drawn is shown as text
    const { signal } = stop.current;
    const has = tries < TRIES ? headAgain(picturePath(base, number, info.content_id, 1), signal) : Promise.reject(new Error("It was asked for often enough."));
    has.then(() => setTries(tries + 1), () => signal.aborted || onFail());
  };
  const first = now[0] || marks[0];
  useLayoutEffect(() => { // once all pages have their places: an effect may run while they are drawn anew
    if (first) onMark(number, first, sheet.current?.querySelector(".box.now, .box.mark"));
  });
  return html`<div class="sheet-room" style=${{ top: `${top}px`, marginLeft: `${shift}px`, width: `${sideways ? height : width}px`, height: `${sideways ? width : height}px` }}>
    <div class="sheet" ref=${sheet} data-page=${number} data-ready=${ready && current ? "" : undefined} data-drawn=${ready ? "" : undefined}
      style=${{ width: `${width}px`, height: `${height}px`, transform: turn ? `translate(-50%, -50%) rotate(${turn}deg)` : "translate(-50%, -50%)" }}>
      ${!ready && html`<div class=${current ? "skeleton" : "blank"} />`}
      ${begun && html`<img key=${`${plain} ${tries}`} class="picture" src=${plain} alt=${t("viewer.picture", { page: number, name: info.name })} draggable=${false}
        onLoad=${drawn} onError=${missing} />`}
      ${wanted && html`<img key=${fine} class=${`picture fine${sharp === fine ? " there" : ""}`} src=${fine} alt="" draggable=${false} onLoad=${() => setSharp(fine)} />`}
      <${Boxes} boxes=${kept} kind="lit" size=${size} />
      <${Boxes} boxes=${marks} kind="mark" size=${size} />
      <${Boxes} boxes=${hits} kind="hit" size=${size} />
      <${Boxes} boxes=${now} kind="hit now" size=${size} />
      ${layout && html`<${TextLayer} layout=${layout} page=${number} />`}
    </div>
  </div>`;
}
