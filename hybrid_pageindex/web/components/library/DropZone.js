// Files and folders may be dropped anywhere on a library.
import { t } from "../../i18n.js";
import { html, useEffect, useRef, useState } from "../../ui.js";
import { droppedFiles } from "./uploading.js";

/** @param {{ name: string, add: (files: import("./uploading.js").Named[]) => void }} props */
export function DropZone({ name, add }) {
  const [over, setOver] = useState(false);
  const newest = useRef(add);
  newest.current = add;
  useEffect(() => {
    const stop = new AbortController();
    const on = (/** @type {string} */ kind, /** @type {(event: any) => void} */ heard) => addEventListener(kind, heard, { signal: stop.signal });
    let depth = 0; // each element under the pointer tells of its own
    const files = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
    on("dragenter", (event) => files(event) && ((depth += 1), setOver(true)));
    on("dragleave", (event) => files(event) && (depth -= 1) < 1 && setOver(false));
    on("dragover", (event) => files(event) && event.preventDefault());
    on("drop", async (event) => {
      if (!files(event)) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      newest.current(await droppedFiles(event.dataTransfer));
    });
    return () => stop.abort();
  }, []);
  return over && html`<div class="drop-zone"><p>${t("library.drop", { name })}</p></div>`;
}
