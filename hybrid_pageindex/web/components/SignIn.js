import { post } from "../api.js";
import { t } from "../i18n.js";
import { html, useEffect, useState } from "../ui.js";

/** @param {{ done: (session: any) => void }} props */
export function SignIn({ done }) {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState("");
  const enter = async (/** @type {string} */ typed) => {
    try {
      done(await post("/session", { token: typed.replace(/^.*#token=/, "").trim() }));
    } catch (error) {
      setWrong(/** @type {Error} */ (error).message);
    }
  };
  useEffect(() => { // the link that the program showed, opened where this page is open
    const moved = (/** @type {HashChangeEvent} */ event) => {
      const linked = event.newURL.split("#token=")[1];
      if (linked) enter(decodeURIComponent(linked));
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return html`<main class="sign-in">
    <h1>Hybrid PageIndex</h1>
    <form class="stack" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), enter(token))}>
      <p>${t("sign_in.advice")}</p>
      <label>${t("sign_in.token")}
        <input type="password" autocomplete="current-password" value=${token} required
          onInput=${(/** @type {any} */ event) => setToken(event.target.value)} /></label>
      ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
      <button class="primary">${t("sign_in.do")}</button>
    </form>
  </main>`;
}
