// How the server is asked: answers, errors as problem documents, and streams that go on where they broke off.

const API = "/api/v1";
const AGAIN = 2000; // ms until a server that does not answer is asked again

/** An error as the server tells it; status 0 is no answer at all. */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message @param {string} advice */
  constructor(status, code, message, advice = "") {
    super(message);
    this.status = status;
    this.code = code;
    this.advice = advice;
    this.wait = AGAIN; // ms until the same request may succeed
  }

  /** Whether the same request may succeed later: there was no answer, or the server was busy. */
  get passing() {
    return [0, 429, 502, 503, 504].includes(this.status);
  }

  get offline() {
    return this.status === 0;
  }
}

/** @type {Set<(online: boolean) => void>} */
const listeners = new Set();
let online = true;

/** Told when the server stops or starts to answer. @param {(online: boolean) => void} listener */
export function whenOnline(listener) {
  listeners.add(listener);
  listener(online);
  return () => void listeners.delete(listener);
}

/** @type {Set<() => void>} */
const expelled = new Set();

/** Told when the server knows this browser no more: its session ended, its token was revoked, or everything was cleared. @param {() => void} listener */
export function whenSignedOut(listener) {
  expelled.add(listener);
  return () => void expelled.delete(listener);
}

/** An error from an answer that is not well. @param {number} status @param {any} body @param {string} text */
export function refusal(status, body, text) {
  if (status === 401) expelled.forEach((tell) => tell());
  return new ApiError(status, body?.code ?? "failed", body?.detail ?? text, body?.advice);
}

/** @param {boolean} now whether the server answers */
export function reach(now) {
  if (now === online) return;
  online = now;
  listeners.forEach((tell) => tell(now));
  if (now) dispatchEvent(new Event("online")); // as the browser tells of its own network
  else knock();
}

/** Asks until somebody answers, whatever it says. */
async function knock() {
  while (!online) {
    await new Promise((go) => setTimeout(go, AGAIN));
    if (!online) await fetch(`${API}/ready`).then(() => reach(true), () => null);
  }
}

/**
 * @param {string} method @param {string} path below /api/v1
 * @param {{ body?: unknown, signal?: AbortSignal, headers?: Record<string, string> }} [more]
 * @returns {Promise<Response>} one that is well
 */
export async function send(method, path, { body, signal, headers = {} } = {}) {
  const given = body !== undefined && !(body instanceof Blob) && !(body instanceof FormData);
  let answer;
  try {
    answer = await fetch(API + path, {
      method,
      signal,
      headers: given ? { "Content-Type": "application/json", ...headers } : headers,
      body: given ? JSON.stringify(body) : /** @type {BodyInit | undefined} */ (body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    reach(false);
    throw new ApiError(0, "offline", "The server does not answer.");
  }
  reach(true);
  if (answer.ok) return answer;
  const error = refusal(answer.status, await answer.json().catch(() => null), answer.statusText);
  error.wait = 1000 * Number(answer.headers.get("Retry-After")) || AGAIN;
  throw error;
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = async (path, signal) => (await send("GET", path, { signal })).json();

/** Ask, and ask again while the server is busy or does not answer. @template T @param {() => Promise<T>} ask @param {AbortSignal} signal */
async function again(ask, signal) {
  for (;;) {
    try {
      return await ask();
    } catch (/** @type {any} */ error) {
      if (signal.aborted || !error.passing) throw error;
      await new Promise((go) => setTimeout(go, error.wait));
      if (signal.aborted) throw error;
    }
  }
}

/** As `get`, and again while the server is busy. @param {string} path @param {AbortSignal} signal @returns {Promise<any>} */
export const getAgain = (path, signal) => again(() => get(path, signal), signal);

/** Wait until the server would send this, such as a picture that an element could not load. @param {string} path @param {AbortSignal} signal */
export const headAgain = (path, signal) => again(() => send("HEAD", path, { signal }), signal);

/** @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] @returns {Promise<any>} null for no content */
export async function post(path, body, signal) {
  const answer = await send("POST", path, { body, signal });
  return answer.status === 204 ? null : answer.json();
}

/** @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} null for no content */
export async function change(method, path, body) {
  const answer = await send(method, path, { body });
  return answer.status === 204 ? null : answer.json();
}

/** A path of names, each escaped. @param {...(string | number)} parts */
export const at = (...parts) => "/" + parts.map((part) => encodeURIComponent(part)).join("/");

/** @param {Record<string, unknown>} given what is undefined, null or "" is left out */
export function query(given) {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null && one !== "") made.append(name, String(one));
  }
  const text = made.toString();
  return text && "?" + text;
}

/**
 * One stream of server-sent events, to its end.
 * @param {Response} answer
 * @param {(kind: string, data: any, id: string) => void} tell
 * @returns {Promise<string>} the number of the last event, "" where it has none
 */
export async function events(answer, tell) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let id = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return id;
    const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      let kind = "message";
      let data = "";
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) kind = line.slice(7);
        else if (line.startsWith("id: ")) id = line.slice(4);
        else if (line.startsWith("data: ")) data += line.slice(6);
      }
      if (data) tell(kind, JSON.parse(data), id);
    }
  }
}

/**
 * Ask, and hear how the answer is made. Its event 'error' is thrown as an ApiError.
 * @param {string} path @param {unknown} body
 * @param {(kind: string, data: any, id: string) => void} tell @param {AbortSignal} [signal]
 */
export async function ask(path, body, tell, signal) {
  const answer = await send("POST", path, { body, signal, headers: { Accept: "text/event-stream" } });
  await events(answer, (kind, data, id) => {
    if (kind === "error") throw new ApiError(500, data.code, data.message, data.advice);
    tell(kind, data, id);
  });
}

/**
 * Follow a stream that can be resumed (Last-Event-ID), also across a server that was away; until the returned
 * function is called, or the stream ends by itself where `once`. `resumed`: it broke off, and goes on.
 * @param {string} path @param {(kind: string, data: any, id: string) => void} tell
 * @param {{ once?: boolean, ended?: (error: ApiError | null) => void, resumed?: () => void }} [more]
 */
export function follow(path, tell, { once = false, ended, resumed } = {}) {
  const stop = new AbortController();
  (async () => {
    let last = "";
    let begun = false;
    let wait = 500;
    while (!stop.signal.aborted) {
      try {
        const headers = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
        const answer = await send("GET", path, { signal: stop.signal, headers });
        wait = 500;
        if (begun) resumed?.();
        begun = true;
        let cut = false;
        await events(answer, (kind, data, id) => {
          last = id || last;
          if (kind === "end") cut = true;
          else tell(kind, data, id);
        });
        if (once && !cut) return ended?.(null);
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) return ended?.(error);
        reach(false);
      }
      await new Promise((go) => setTimeout(go, wait));
      wait = Math.min(wait * 2, 8000);
    }
  })();
  return () => stop.abort();
}
