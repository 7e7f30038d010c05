// What a document is, said by hand: it stays when the file is indexed again, and can be taken back.
import { send } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../ui.js";

const FIELDS = /** @type {const} */ (["title", "organisation", "year", "date", "type", "tags"]);

/** What stands in a field, as it would be typed. @param {any} one @returns {Record<string, string>} */
function valuesOf(one) {
  const { card } = one;
  return {
    title: one.title, organisation: card.names.join("; "), year: card.years.join(", "), date: card.date ?? "", type: card.type, tags: card.tags.join("; "),
  };
}

/**
 * @param {{ seen: { document: any, tag: string }, path: string, done: (seen: object) => void, again: () => Promise<void> }} props
 * `again` reads the document anew, where somebody else has changed it
 */
export function Corrections({ seen, path, done, again }) {
  const now = valuesOf(seen.document);
  const [typed, setTyped] = useState(/** @type {Record<string, string>} */ ({}));
  const [said, setSaid] = useState({ text: "", bad: false });
  const { corrections } = seen.document;
  const changed = FIELDS.filter((field) => typed[field] !== undefined && typed[field].trim() !== now[field]);
  const write = async (/** @type {Record<string, string>} */ set, /** @type {string[]} */ unset) => {
    try {
      const answer = await send("PATCH", path, { body: { set, unset }, headers: { "If-Match": seen.tag } });
      done({ document: await answer.json(), tag: "" });
      await again();
      setTyped({});
      setSaid({ text: t("details.saved"), bad: false });
    } catch (error) {
      const { status, message, advice } = /** @type {import("../../api.js").ApiError} */ (error);
      if (status === 412) await again(); // what was typed stays, beside what is there now
      setSaid({ text: status === 412 ? t("details.changed") : [message, advice].filter(Boolean).join(" "), bad: true });
    }
  };
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    const empty = changed.filter((field) => !typed[field].trim());
    write(Object.fromEntries(changed.filter((field) => !empty.includes(field)).map((field) => [field, typed[field]])), empty);
  };
  return html`<form class="corrections" onSubmit=${save}>
    ${FIELDS.map((field) => html`<div key=${field} class="field"><label><span>${t(`details.${field}`)}${field in corrections ? html` <em class="muted">${t("details.by_hand")}</em>` : ""}</span>
      <input type=${field === "date" ? "date" : "text"} value=${typed[field] ?? now[field]} placeholder=${t(`details.hint_${field}`)}
        onInput=${(/** @type {any} */ event) => setTyped({ ...typed, [field]: event.target.value })} /></label>
      ${field in corrections && html`<button type="button" class="quiet" aria-label=${t("details.take_back_of", { field: t(`details.${field}`) })}
        onClick=${() => write({}, [field])}>${t("details.take_back")}</button>`}</div>`)}
    <div class="row"><button class="primary" disabled=${!changed.length}>${t("details.save")}</button>
      <span role=${said.bad ? "alert" : "status"} class=${said.bad ? "bad small" : "good small"}>${said.text}</span></div>
  </form>`;
}
