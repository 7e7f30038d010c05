// What is known of one document, and what can be done with it.
import { useAnswer } from "../../answers.js";
import { change, post, send } from "../../api.js";
import { ago, bytes, number, t } from "../../i18n.js";
import { docLink, link } from "../../router.js";
import { noteText, noteTexts } from "../../translation.js";
import { html, useEffect, useRef, useState } from "../../ui.js";
import { Briefing } from "../briefing/Briefing.js";
import { address, documentPath } from "../viewer/addresses.js";
import { Failure } from "../jobs/Failure.js";
import { offerUndo } from "../Undo.js";
import { titleOf } from "./choosing.js";
import { Corrections } from "./Corrections.js";
import { Outline } from "./Outline.js";
import { FirstPage } from "./Row.js";
import { Versions } from "./Versions.js";

/**
 * @param {{ library: string, doc: string, row: import("./documents.js").Row | undefined, may: boolean,
 *   jobs: import("./documents.js").Job[], close: () => void, changed: () => void }} props
 * `row` as the list has it: where that changes, this is read again
 */
export function Details({ library, doc, row, may, jobs, close, changed }) {
  const [said, setSaid] = useState("");
  const head = useRef(/** @type {HTMLElement | null} */ (null));
  const path = documentPath(library, doc);
  const read = async (/** @type {AbortSignal} */ signal) => {
    const answer = await send("GET", path, { signal });
    return { document: await answer.json(), tag: answer.headers.get("ETag") ?? "" };
  };
  const { answer: seen, wrong, look: load, set: setSeen } = useAnswer(read, [path, row?.content_id, row?.error]);
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    head.current?.focus();
    return () => before?.isConnected && before.focus();
  }, [doc]);
  const failed = (/** @type {import("../../api.js").ApiError} */ error) => setSaid([error.message, error.advice].filter(Boolean).join(" "));
  const rebuild = () => post(`${path}/rebuild`).then(() => (setSaid(t("details.rebuilding")), changed()), failed);

  const one = seen?.document;
  const reason = jobs.find((job) => job.status === "failed" && job.subject === one?.path)?.reason ?? "";
  const unlock = (/** @type {string} */ password) => post(`${path}/unlock`, { password }).then(() => (changed(), load()));
  const gone = wrong?.status === 404;
  return html`<aside class="details" aria-labelledby="details-title" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && close()}>
    <div class="details-head"><h2 id="details-title" tabindex="-1" ref=${head}>${one ? titleOf(one) : row ? titleOf(row) : t("library.details")}</h2>
      <button type="button" class="quiet" aria-label=${t("details.close")} onClick=${close}>✕</button></div>
    ${wrong && html`<div class="notice bad" role="alert"><p>${gone ? t("details.gone") : wrong.message}</p>
      ${!gone && html`<button type="button" onClick=${load}>${t("library.try_again")}</button>`}</div>`}
    ${!one && !wrong && html`<div class="waiting-lines" aria-busy="true"><div class="waiting-line"></div><div class="waiting-line"></div></div>`}
    ${one && !gone && html`
      <div class="details-top">
        ${row && html`<${FirstPage} library=${library} row=${row} />`}
        <div class="details-acts">
          ${one.published && html`<a class="button primary" href=${docLink(library, doc)}>${t("details.open")}</a>
            <a class="button" href=${link(["map", library, doc])}>${t("map.title")}</a>`}
          <a class="button" href=${address(`${path}/original`)} download=${one.name}>${t("details.download")}</a>
          ${may && html`<button type="button" onClick=${rebuild}>${t("details.rebuild")}</button>
            <${Removal} one=${one} path=${path} done=${() => (changed(), close())} failed=${failed} />`}
        </div>
      </div>
      <p class="small" role="status">${said}</p>
      ${one.error && html`<div class="notice bad"><p>${one.published ? t("details.older") : t("details.failed")}</p>
        <${Failure} reason=${reason} cause=${noteText(one.error, one.error_code)} name=${one.name} retry=${may ? rebuild : undefined} unlock=${may ? unlock : undefined} /></div>`}
      ${one.published && one.unread > 0 && html`<div class="notice warn"><${Failure} reason="unread" cause=${number(one.unread)} name=${one.name} retry=${may ? rebuild : undefined} /></div>`}
      ${one.warnings.length > 0 && html`<div class="notice warn"><ul>${noteTexts(one.warnings, one.warning_codes).map((/** @type {string} */ warning) => html`<li key=${warning}>${warning}</li>`)}</ul></div>`}
      ${one.description && html`<p>${one.description}</p>`}
      ${one.published && html`<${Briefing} library=${library} doc=${doc} />`}
      <${Facts} one=${one} />
      ${may && html`<${Fold} name="details.correct"><${Corrections} seen=${seen} path=${path}
        done=${(/** @type {any} */ now) => (setSeen(now), changed())} again=${load} /><//>`}
      ${one.published && html`<${Fold} name="details.outline" open><${Outline} library=${library} doc=${doc} content=${one.content_id} /><//>
        <${Fold} name="details.versions"><${Versions} path=${path} content=${one.content_id} /><//>`}`}
  </aside>`;
}

/** A part that is asked for when it is opened. */
function Fold({ name, open = false, children }) {
  const [shown, setShown] = useState(open);
  return html`<details class="fold" open=${shown} onToggle=${(/** @type {any} */ event) => setShown(event.currentTarget.open)}>
    <summary>${t(name)}</summary>${shown && children}</details>`;
}

function Facts({ one }) {
  const { card } = one;
  const facts = {
    file: one.name, folder: one.path.replace(/^upload:\/+/, "").split("/").slice(0, -1).join("/"), organisation: card.names[card.topic ? 1 : 0], year: card.years.join(", "),
    date: card.date, type: card.type, tags: card.tags.join(", "), pages: one.pages ? number(one.pages) : "", unread: one.unread || "",
    sections: one.sections ? number(one.sections) : "", size: bytes(one.size), format: one.format, indexed: ago(one.indexed_at),
    models: Object.keys(one.models).join(", "),
  };
  return html`<dl class="details-facts">${Object.entries(facts).filter(([, value]) => value).map(([name, value]) =>
    html`<div key=${name}><dt>${t(`details.${name}`)}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Asks once more, and offers to undo it. */
function Removal({ one, path, done, failed }) {
  const [asking, ask] = useState(false);
  if (!asking) return html`<button type="button" class="danger" onClick=${() => ask(true)}>${t("details.remove")}</button>`;
  const uploaded = one.path.startsWith("upload:/");
  const remove = () => change("DELETE", path).then(({ removed, bin }) => {
    offerUndo(t("bin.document_removed", { name: titleOf(one), n: removed.length }), [bin]);
    done();
  }, failed);
  return html`<div class="sure" role="group" aria-label=${t("details.remove")}><p>${t(uploaded ? "details.remove_upload" : "details.remove_file")}</p>
    <button type="button" class="danger" ref=${(/** @type {any} */ button) => button?.focus()} onClick=${remove}>${t("details.remove_sure")}</button>
    <button type="button" onClick=${() => ask(false)}>${t("details.keep")}</button></div>`;
}
