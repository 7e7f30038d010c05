import { get, post } from "../api.js";
import { t } from "../i18n.js";
import { html, useState } from "../ui.js";

/** @param {{ done: (session: any) => void }} props */
export function SignIn({ done }) {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState("");
  const enter = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await post("/session", { token: token.replace(/^.*#token=/, "").trim() });
      done(await get("/session"));
    } catch (error) {
      setWrong(/** @type {Error} */ (error).message);
    }
  };
  return html`<main class="sign-in">
    <h1>Hybrid PageIndex</h1>
    <form class="stack" onSubmit=${enter}>
      <p>${t("sign_in.advice")}</p>
      <label>${t("sign_in.token")}
        <input type="password" autocomplete="current-password" value=${token} required
          onInput=${(/** @type {any} */ event) => setToken(event.target.value)} /></label>
      ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
      <button class="primary">${t("sign_in.do")}</button>
    </form>
  </main>`;
}
