// What was removed in the last 30 days: brought back, or deleted for good.
import { useAttempt } from "../../attempt.js";
import { useAnswer } from "../../answers.js";
import { at, change, get, post } from "../../api.js";
import { useNews } from "../../feed.js";
import { ago, t } from "../../i18n.js";
import { renounce } from "../../libraries.js";
import { go, link } from "../../router.js";
import { html, useState } from "../../ui.js";
import { Sure } from "../library/Manage.js";

const DAY = 86400000; // ms

/** @param {{ may: import("../../rights.js").May }} props */
export function Bin({ may }) {
  const { answer: entries, wrong, look } = useAnswer((signal) => get("/bin", signal), []);
  useNews(look);
  const [attempt, said] = useAttempt(look);
  const cleared = () => {
    renounce();
    go(link([""]), true);
  };
  return html`<section class="card stack">
    ${wrong && html`<p class="bad" role="alert">${wrong.message}</p>`}
    ${entries?.length === 0 && html`<p class="muted">${t("bin.empty")}</p>`}
    <ul class="stack">${(entries ?? []).map((/** @type {any} */ entry) => html`<${Entry} key=${entry.id} entry=${entry} attempt=${attempt} />`)}</ul>
    ${may("admin") && entries && entries.length > 0 && html`<div class="row"><${ForGood} label=${t("bin.empty_all")} sure=${t("bin.sure_all", { n: entries.length })}
      act=${() => attempt(() => deleteAll(entries), t("bin.deleted"))} /></div>`}
    <p role=${said.bad ? "alert" : "status"} class=${`small ${said.bad ? "bad" : "good"}`}>${said.text}</p>
  </section>
  ${may("admin") && html`<section class="card stack"><h2>${t("manage.clear")}</h2><p class="muted small">${t("manage.clear_more")}</p>
    <div class="row"><${Sure} danger label=${t("manage.clear_do")} word="everything" act=${() => attempt(() => post("/clear", { confirm: "everything" }).then(cleared))} /></div></section>`}`;
}

/** Delete what was listed when the person agreed, and nothing that came since. @param {any[]} entries */
async function deleteAll(entries) {
  for (const entry of entries) {
    await change("DELETE", at("bin", entry.id)).catch((error) => {
      if (error.status !== 404) throw error; // another window deleted it or brought it back
    });
  }
}

function Entry({ entry, attempt }) {
  const days = Math.max(0, Math.ceil((Date.parse(entry.expires_at) - Date.now()) / DAY));
  const library = entry.kind === "library";
  const more = entry.documents - entry.names.length;
  const names = entry.names.join(", ") + (more > 0 ? ` ${t("bin.more", { n: more })}` : "");
  const holds = [t("library.count", { n: entry.documents }), t("library.pages", { n: entry.pages }), entry.notes ? t("bin.notes", { n: entry.notes }) : ""];
  const name = library ? t("bin.library", { name: entry.library }) : names;
  return html`<li class="row"><span class="grow"><b>${name}</b>
      <span class="muted small"> ${library ? names : t("bin.from", { name: entry.library })} · ${holds.filter(Boolean).join(", ")} ·
        ${" "}${t("bin.removed", { ago: ago(entry.removed_at) })}, ${t("bin.left", { n: days })}</span></span>
    <button type="button" aria-label=${`${t("bin.restore")}: ${name}`} onClick=${() => attempt(() => post(at("bin", entry.id, "restore")), t("bin.is_back"))}>${t("bin.restore")}</button>
    <${ForGood} label=${t("bin.delete")} name=${name} sure=${t("bin.sure")} act=${() => attempt(() => change("DELETE", at("bin", entry.id)), t("bin.deleted"))} /></li>`;
}

/** Asks once more: from here nothing comes back. */
function ForGood({ label, name = "", sure, act }) {
  const [asking, ask] = useState(false);
  if (!asking) return html`<button type="button" class="danger" aria-label=${name ? `${label}: ${name}` : null} onClick=${() => ask(true)}>${label}</button>`;
  return html`<span class="row" role="group" aria-label=${label}><span class="bad small">${sure}</span>
    <button type="button" class="danger" ref=${(/** @type {any} */ button) => button?.focus()} onClick=${act}>${t("bin.for_good")}</button>
    <button type="button" onClick=${() => ask(false)}>${t("details.keep")}</button></span>`;
}
