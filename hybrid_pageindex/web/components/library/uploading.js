// Files on their way to the server: a few requests at a time, small files together, each file with what became of it.
import { ApiError, at, post, refusal } from "../../api.js";
import { t } from "../../i18n.js";
import { remember, remembered } from "../../storage.js";
import { noteTexts } from "../../translation.js";
import { fileOf } from "../jobs/words.js";
import { address } from "../viewer/addresses.js";
import { useEffect, useReducer } from "../../ui.js";

/**
 * @typedef {{ name: string, file: File, unread?: boolean, web?: boolean }} Named a file with the folders that it lay in; `unread`: the browser could not open it; `web`: its name is an address, which the server fetches
 * @typedef {{ id: number, name: string, file: File, unread: boolean, web: boolean, sent: number, state: "queued" | "sending" | "failed", why: string, tries: number }} Sending
 */

const REQUESTS = 2; // at once
const FILES = 40; // in one request
const BYTES = 8e6;
const TRIES = 4; // where the server does not answer
const WEB = ["fetching_off", "document_too_large"]; // refusals of an address in the page's own words
const LEFT_OUT = /^\.|^thumbs\.db$|^desktop\.ini$|^~\$/i; // what systems put into folders

let numbers = 0;

class UploadQueue {
  /** @type {Sending[]} */ items = [];
  /** @type {string[]} */ notes = [];
  /** Names of files that were not sent when the page was left. @type {string[]} */ lost = [];
  /** Names of files that the library has already, unchanged. @type {string[]} */ same = [];
  total = 0; // files since nothing was on its way
  #running = 0;
  /** @type {Map<number, AbortController>} */ #stops = new Map();
  /** @type {Set<() => void>} */ #listeners = new Set();

  /** @param {string} library */
  constructor(library) {
    this.library = library;
    const key = `unsent ${library}`;
    this.lost = JSON.parse(remembered(key, "session") || "[]");
    remember(key, "", "session");
    addEventListener("pagehide", () => {
      if (this.items.length) remember(key, JSON.stringify(this.items.map((one) => one.name)), "session");
    });
    addEventListener("beforeunload", (event) => this.items.some((one) => one.state !== "failed") && event.preventDefault());
  }

  /** @param {() => void} listener */
  listen(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell = () => this.#listeners.forEach((listener) => listener());

  /** @param {Named[]} files */
  add(files) {
    this.lost = [];
    this.notes = [];
    this.same = [];
    this.total = files.length + (this.items.length ? this.total : 0);
    for (const { name, file, unread = false, web = false } of files) {
      this.items.push({ id: (numbers += 1), name, file, unread, web, sent: 0, state: unread ? "failed" : "queued", why: unread ? t("library.unread") : "", tries: 0 });
    }
    this.#next();
  }

  /** @param {number} id */
  cancel(id) {
    this.#stops.get(id)?.abort();
    this.items = this.items.filter((one) => one.id !== id);
    this.#next();
  }

  /** @param {number} id */
  retry(id) {
    this.#change([id], { state: "queued", why: "", sent: 0, tries: 0 });
    this.#next();
  }

  dismiss() {
    this.lost = [];
    this.notes = [];
    this.same = [];
    this.#tell();
  }

  /** @param {number[]} ids @param {Partial<Sending>} now */
  #change(ids, now) {
    this.items = this.items.map((one) => (ids.includes(one.id) ? { ...one, ...now } : one));
    this.#tell();
  }

  #next() {
    this.#tell();
    while (this.#running < REQUESTS) {
      const batch = this.#batch();
      if (!batch.length) return;
      this.#running += 1;
      this.#send(batch).finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
  }

  /** The next files: several where they are small and have not failed before, so that one never spoils another. */
  #batch() {
    /** @type {Sending[]} */
    const batch = [];
    let size = 0;
    for (const one of this.items) {
      if (one.state !== "queued") continue;
      if (batch.length && (one.tries || one.web || size + one.file.size > BYTES || batch.length === FILES)) break;
      batch.push(one);
      size += one.file.size;
      if (one.tries || one.web) break;
    }
    return batch;
  }

  /** @param {Sending[]} batch */
  async #send(batch) {
    const ids = batch.map((one) => one.id);
    const stop = new AbortController();
    ids.forEach((id) => this.#stops.set(id, stop));
    this.#change(ids, { state: "sending", sent: 0 });
    try {
      const done = batch[0].web ? await post(at("libraries", this.library, "fetch"), { address: batch[0].name }, stop.signal)
        : await request(this.library, batch, stop.signal, (sent) => this.#progress(batch, sent));
      this.notes = [...new Set([...this.notes, ...noteTexts(done.notes, done.note_codes)])];
      this.same = [...this.same, ...done.files.filter((/** @type {any} */ file) => file.job === null).map((/** @type {any} */ file) => fileOf(file.path))];
      this.items = this.items.filter((one) => !ids.includes(one.id));
    } catch (error) {
      await this.#failed(ids, batch, /** @type {ApiError} */ (error), stop.signal.aborted);
    } finally {
      ids.forEach((id) => this.#stops.delete(id));
    }
  }

  /** @param {number[]} ids @param {Sending[]} batch @param {ApiError} error @param {boolean} stopped */
  async #failed(ids, batch, error, stopped) {
    const tries = batch[0].tries + 1;
    const soon = [0, 429, 503].includes(error.status);
    if (stopped) this.#change(ids, { state: "queued", sent: 0 }); // another file of the request was taken out of it
    else if (batch.length > 1 || (soon && tries < TRIES)) {
      this.#change(ids, { state: "queued", sent: 0, tries });
      if (soon) await new Promise((go) => setTimeout(go, 1000 * tries));
    } else if (batch[0].web && WEB.includes(error.code)) this.#change(ids, { state: "failed", why: t(`web.${error.code}`) });
    else if (error.status === 413) this.#change(ids, { state: "failed", why: t("failure.too_large") });
    else this.#change(ids, { state: "failed", why: [error.message, error.advice].filter(Boolean).join(" ") });
  }

  /** @param {Sending[]} batch @param {number} sent bytes of the request, in which the files stand one after the other */
  #progress(batch, sent) {
    const now = new Map();
    for (const { id, file } of batch) {
      now.set(id, Math.max(0, Math.min(file.size, sent)));
      sent -= file.size;
    }
    this.items = this.items.map((one) => (now.has(one.id) ? { ...one, sent: now.get(one.id) } : one));
    this.#tell();
  }
}

/**
 * @param {string} library @param {Sending[]} batch @param {AbortSignal} signal @param {(sent: number) => void} progress
 * @returns {Promise<{ files: { path: string, job: number | null }[], notes: string[], note_codes?: import("../../translation.js").Code[] }>}
 */
function request(library, batch, signal, progress) {
  const form = new FormData();
  for (const { name, file } of batch) form.append("file", file, name);
  const sent = new XMLHttpRequest(); // fetch does not tell how much has gone
  return new Promise((done, failed) => {
    sent.open("POST", address(at("libraries", library, "documents")));
    sent.responseType = "json";
    sent.upload.onprogress = (event) => progress(event.loaded);
    sent.onload = () => {
      if (sent.status < 300) return done(sent.response);
      failed(refusal(sent.status, sent.response, sent.statusText));
    };
    sent.onerror = sent.onabort = () => failed(new ApiError(0, "offline", "The server does not answer."));
    signal.addEventListener("abort", () => sent.abort());
    sent.send(form);
  });
}

/** @type {Map<string, UploadQueue>} */
const queues = new Map(); // they go on while another view is looked at

/** @param {string} library */
export function uploadsOf(library) {
  const queue = queues.get(library) ?? new UploadQueue(library);
  queues.set(library, queue);
  return queue;
}

/** @param {string} library */
export function useUploads(library) {
  const queue = uploadsOf(library);
  const [, draw] = useReducer((now) => now + 1, 0);
  useEffect(() => queue.listen(() => draw(null)), [queue]);
  return queue;
}

/** @param {Iterable<File>} files of an input, with their folders where it is one for folders */
export const chosenFiles = (files) =>
  [...files].map((file) => ({ name: file.webkitRelativePath || file.name, file })).filter(({ name }) => wanted(name));

/** @param {string} name */
const wanted = (name) => !name.split("/").some((part) => LEFT_OUT.test(part));

/** What was dropped, folders with all that lies in them. @param {DataTransfer} transfer @returns {Promise<Named[]>} */
export async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()); // they are gone once one has waited
  if (!entries.some(Boolean)) return chosenFiles(transfer.files);
  /** @type {Named[]} */
  const found = [];
  for (const entry of entries) if (entry) await walk(entry, "", found);
  return found.filter(({ name }) => wanted(name));
}

/** @param {any} entry a FileSystemEntry @param {string} above @param {Named[]} found */
async function walk(entry, above, found) {
  const name = above + entry.name;
  try {
    if (entry.isFile) {
      found.push({ name, file: await new Promise((done, failed) => entry.file(done, failed)) });
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!some.length) return; // it gives a hundred at a time
      for (const one of some) await walk(one, `${name}/`, found);
    }
  } catch {
    found.push({ name, file: new File([], entry.name), unread: true });
  }
}
