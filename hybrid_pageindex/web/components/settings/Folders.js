// Folders of the server's disk that libraries are kept up to date with.
import { useAttempt } from "../../attempt.js";
import { useAnswer } from "../../answers.js";
import { at, get } from "../../api.js";
import { t } from "../../i18n.js";
import { html } from "../../ui.js";
import { Sources } from "../library/Sources.js";

/** @param {{ may: import("../../rights.js").May }} props */
export function Folders({ may }) {
  const { answer, wrong } = useAnswer((signal) => get("/libraries", signal), []);
  /** @type {any[] | null} */
  const libraries = answer ?? (wrong ? [] : null);
  if (!libraries) return html`<div class="card waiting-card" aria-busy="true" />`;
  return html`${libraries.length === 0 && html`<p class="muted">${t("home.empty")}</p>`}
    ${libraries.map((one) => html`<${Followed} key=${one.id} library=${one} may=${may} />`)}`;
}

/** @param {{ library: any, may: import("../../rights.js").May }} props */
function Followed({ library, may }) {
  const [attempt, said] = useAttempt();
  return html`<section class="card stack" aria-label=${library.alias || library.name}><h2>${library.alias || library.name}</h2>
    <${Sources} path=${at("libraries", library.name)}
      may=${may("admin", library.id) && may("admin")} writes=${may("write", library.id)} attempt=${attempt} />
    <p class=${`small ${said.bad ? "bad" : "good"}`} role=${said.bad ? "alert" : "status"}>${said.text}</p></section>`;
}
