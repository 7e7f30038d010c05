// Settings as fields; each is kept as soon as it is changed, and says so.
import { t } from "../../i18n.js";
import { html, useEffect, useState } from "../../ui.js";

/** @param {{ values: import("./values.js").Values, names: string[] }} props */
export const Fields = ({ values, names }) => html`<div class="fields">
  ${names.map((name) => values.views.has(name) && html`<${Field} key=${name} values=${values} name=${name} />`)}</div>`;

/** What a choice is called; an own word of a setting first. @param {string} name @param {string} choice */
function nameOf(name, choice) {
  const named = [`settings.${name}_${choice}`, `settings.choice_${choice}`].find((text) => t(text) !== text);
  return choice ? t(named ?? choice) : "–";
}

/** @param {{ values: import("./values.js").Values, name: string }} props */
export function Field({ values, name }) {
  const one = /** @type {import("./values.js").Value} */ (values.views.get(name));
  const [typed, setTyped] = useState(String(one.value));
  const [said, setSaid] = useState({ text: "", bad: false });
  useEffect(() => setTyped(String(one.value)), [one.value]);
  const numeric = typeof one.default === "number";
  const keep = async (/** @type {string} */ now) => {
    if (now === String(one.value) && !secret) return;
    if (secret && !now) return;
    try {
      await values.save({ [name]: numeric ? Number(now) : now });
      setSaid({ text: t("settings.saved"), bad: false });
      if (secret) setTyped("");
    } catch (/** @type {any} */ error) {
      setSaid({ text: `${error.message} ${error.advice ?? ""}`, bad: true });
      if (one.choices.length) setTyped(String(one.value)); // a choice that was refused is not shown as if it held
    }
  };
  const secret = name.endsWith("_key");
  const label = t(`settings.of_${name}`);
  const id = `setting-${name}`;
  const input = one.choices.length
    ? html`<select id=${id} value=${typed} disabled=${Boolean(one.fixed)} onChange=${(/** @type {any} */ event) => (setTyped(event.target.value), keep(event.target.value))}>
        ${one.choices.map((choice) => html`<option key=${choice} value=${choice}>${nameOf(name, choice)}</option>`)}</select>`
    : html`<input id=${id} type=${secret ? "password" : numeric ? "number" : "text"} step="any" autocomplete="off" value=${typed} disabled=${Boolean(one.fixed)}
        placeholder=${secret && one.given ? t("settings.secret_kept") : ""} aria-describedby=${`${id}-help`}
        onInput=${(/** @type {any} */ event) => (setTyped(event.target.value), setSaid({ text: "", bad: false }))} onChange=${(/** @type {any} */ event) => keep(event.target.value)} />`;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${input}
    <p class="small muted" id=${`${id}-help`}>${t(`settings.help_${name}`)}${one.fixed ? ` ${t("settings.fixed", { name })}` : ""}
      ${secret && one.given && !one.fixed ? html` <button type="button" class="link" onClick=${() => values.save({ [name]: "" })}>${t("settings.forget_secret")}</button>` : null}</p>
    <p class=${`small said ${said.bad ? "bad" : "good"}`} role="status">${said.text}</p>
  </div>`;
}
