// What was kept of answers and passages, by library: read, filtered, changed, and followed to its page.
import { useAnswer } from "../../answers.js";
import { at, change, get } from "../../api.js";
import { useNews } from "../../feed.js";
import { ago, t } from "../../i18n.js";
import { link, pageLink } from "../../router.js";
import { html, useState } from "../../ui.js";
import { IconButton } from "../viewer/Icons.js";

/** @param {{ note: any, library: string, onChange: () => void, onProblem: (error: any) => void }} props */
function Note({ note, library, onChange, onProblem }) {
  const [edited, setEdited] = useState(/** @type {{ title: string, text: string } | null} */ (null));
  const path = at("libraries", library, "notes", note.id), name = note.title || (note.text || note.quote).slice(0, 60);
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    change("PUT", path, edited).then(() => { setEdited(null); onChange(); }, onProblem);
  };
  const remove = () => confirm(t("notes.remove_sure", { name })) && change("DELETE", path).then(onChange, onProblem);
  if (edited) {
    return html`<li class="note"><form class="stack" onSubmit=${save} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && setEdited(null)}>
      <input autofocus value=${edited.title} maxlength="1000" aria-label=${t("notes.title")} onInput=${(/** @type {any} */ event) => setEdited({ ...edited, title: event.target.value })} />
      <textarea rows="6" value=${edited.text} required=${!note.quote} maxlength="200000" aria-label=${t("notes.text")} onInput=${(/** @type {any} */ event) => setEdited({ ...edited, text: event.target.value })} />
      <div class="row"><button class="primary">${t("notes.save")}</button><button type="button" onClick=${() => setEdited(null)}>${t("conversation.keep")}</button></div></form></li>`;
  }
  return html`<li class="note"><header class="row"><h3 class="grow">${note.title}</h3>
      <${IconButton} icon="edit" label=${t("notes.edit", { name })} onClick=${() => setEdited({ title: note.title, text: note.text })} />
      <${IconButton} icon="remove" label=${t("notes.remove", { name })} onClick=${remove} /></header>
    ${note.quote && html`<blockquote class="note-quote">${note.quote}</blockquote>`}
    ${note.text && html`<p class="note-text">${note.text}</p>`}
    <p class="muted small">${note.doc_id && html`<a href=${pageLink(library, note.doc_id, note.page || 1, note.quote.slice(0, 300))}>${t("notes.place", { page: note.page || 1 })}</a> · `}${ago(new Date(note.changed_at).toISOString())}</p></li>`;
}

/** The libraries that have notes, each with them. @param {AbortSignal} signal */
async function notesOfAll(signal) {
  const libraries = await get("/libraries", signal);
  const all = await Promise.all(libraries.map(async (/** @type {any} */ library) =>
    ({ library, notes: await get(at("libraries", library.name, "notes"), signal) })));
  return all.filter(({ notes }) => notes.length);
}

/** Notes as Markdown, each with the address of its page. @param {{ library: any, notes: any[] }[]} libraries */
function asMarkdown(libraries) {
  const root = location.href.split("#")[0], one = (/** @type {any} */ library, /** @type {any} */ note) => {
    const place = note.doc_id ? `\n\n[${t("notes.place", { page: note.page || 1 })}](${root}${pageLink(library.name, note.doc_id, note.page || 1)})` : "";
    const quote = note.quote && `> ${note.quote.replaceAll("\n", "\n> ")}`;
    return `## ${note.title || (note.text || note.quote).slice(0, 60).split("\n")[0]}\n\n${[quote, note.text].filter(Boolean).join("\n\n")}${place}`;
  };
  return libraries.map(({ library, notes }) => [`# ${library.alias || library.name}`, ...notes.map((note) => one(library, note))].join("\n\n")).join("\n\n") + "\n";
}

/** Give the browser a text as a file. @param {string} name @param {string} text */
function saveFile(name, text) {
  const held = URL.createObjectURL(new Blob([text], { type: "text/markdown" })), made = document.createElement("a");
  Object.assign(made, { href: held, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(held), 10_000);
}

export function Notes() {
  const [words, setWords] = useState(""), [failed, setFailed] = useState(/** @type {any} */ (null));
  const all = useAnswer(notesOfAll, []), problem = failed || all.wrong;
  /** @type {{ library: any, notes: any[] }[] | null} */
  const found = all.answer;
  const look = () => (setFailed(null), all.look());
  useNews(look);
  const wished = words.trim().toLowerCase(), fits = (/** @type {any} */ note) => `${note.title}\n${note.quote}\n${note.text}`.toLowerCase().includes(wished);
  const shown = (found ?? []).map((one) => ({ ...one, notes: one.notes.filter(fits) })).filter((one) => one.notes.length);
  return html`<div class="view kept">
    <div class="row"><h1 class="grow">${t("frame.notes")}</h1>
      ${shown.length > 0 && html`<button type="button" onClick=${() => saveFile("notes.md", asMarkdown(shown))}>${t("notes.export")}</button>`}</div>
    ${found && found.length > 0 && html`<input type="search" value=${words} placeholder=${t("conversation.filter")} aria-label=${t("conversation.filter")} onInput=${(/** @type {any} */ event) => setWords(event.target.value)} />`}
    ${problem && html`<p class="remark bad" role="alert">${problem.message} ${problem.advice} <button type="button" class="quiet-button" onClick=${look}>${t("viewer.again")}</button></p>`}
    ${!found && !problem && html`<div class="lines" aria-busy="true"><i /><i /><i /></div>`}
    ${found && !shown.length && html`<div class="nothing"><h2>${t(words ? "notes.none_found" : "notes.none")}</h2><p class="muted">${t("notes.none_more")}</p></div>`}
    ${shown.map(({ library, notes }) => html`<section key=${library.id}><h2><a href=${link(["library", library.name])}>${library.alias || library.name}</a></h2>
      <ul>${notes.map((note) => html`<${Note} key=${note.id} note=${note} library=${library.name} onChange=${look} onProblem=${setFailed} />`)}</ul></section>`)}
  </div>`;
}
