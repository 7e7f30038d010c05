// Views are fetched when they are first shown: the first one needs a third of all.
import { t } from "./i18n.js";
import { html, useEffect, useState } from "./ui.js";

/**
 * A component that is fetched when it is first drawn.
 * @param {() => Promise<any>} fetched gives the component
 */
export function later(fetched) {
  /** @type {any} */
  let held = null;
  function Later(/** @type {any} */ given) {
    const [state, setState] = useState(held ? "here" : "fetched");
    useEffect(() => {
      if (state !== "fetched") return;
      fetched().then((component) => { held = component; setState("here"); }, () => setState("failed"));
    }, [state]);
    if (held) return html`<${held} ...${given} />`;
    if (state !== "failed") return html`<div class="view" aria-busy="true"></div>`;
    return html`<div class="view stack" role="alert"><p>${t("frame.unreached")}</p>
      <p><button onClick=${() => setState("fetched")}>${t("library.try_again")}</button></p></div>`;
  }
  Later.ahead = () => void fetched().then((component) => (held = component), () => null);
  return Later;
}
