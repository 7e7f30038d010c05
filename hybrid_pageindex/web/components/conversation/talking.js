// A conversation as the server keeps it, and the answer that is being made: whoever reloads hears it from its events.
import { at, change, follow, get, post } from "../../api.js";
import { useCallback, useEffect, useRef, useState } from "../../ui.js";

/** What is known of an answer while it is made. */
const fresh = (message) => ({ ...message, text: "", steps: [], phase: "searching" });

/** Of an answer that has ended only its steps are missing. @param {any} answer @param {string} kind @param {any} data */
export function heard(answer, kind, data) {
  if (answer.status !== "running") return kind === "step" ? { ...answer, steps: [...(answer.steps || []), data] } : kind === "begun" ? { ...answer, steps: [] } : answer;
  switch (kind) {
    case "begun": return fresh(answer);
    case "question": return { ...answer, searched: data.text, searched_from: data.from };
    case "step": return { ...answer, steps: [...(answer.steps || []), data] };
    case "sources": return { ...answer, phase: "reading", citations: data.sources.map((one) => ({ state: "current", ...one })) };
    case "text": return { ...answer, phase: "writing", text: answer.text + data.text };
    case "state": case "ended": return { ...answer, ...data, steps: answer.steps || [], phase: data.status === "running" ? "writing" : "" };
    default: return answer;
  }
}

/** @param {string} id */
export function useTalk(id) {
  const [talk, setTalk] = useState(/** @type {any} */ ({ state: "loading", messages: [] }));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const stop = useRef(/** @type {null | (() => void)} */ (null)), following = useRef(0);
  const followed = useRef(/** @type {Map<number, number>} */ (new Map())); // how often an answer was
  const others = useRef(/** @type {BroadcastChannel | null} */ (null)); // the same conversation in other tabs
  const path = at("conversations", id);

  const amend = useCallback((message, tell) => setTalk((before) => ({
    ...before, messages: before.messages.map((one) => (one.id === message ? tell(one) : one)),
  })), []);

  const listen = useCallback((message) => {
    if (following.current === message.id) return;
    stop.current?.();
    following.current = message.id;
    followed.current.set(message.id, (followed.current.get(message.id) ?? 0) + 1);
    let said = [], waiting = 0;
    const flush = () => { // many pieces of text become one change of the page
      waiting = 0;
      const heardNow = said;
      said = [];
      amend(message.id, (one) => heardNow.reduce((answer, [kind, data]) => heard(answer, kind, data), one));
    };
    const over = () => { following.current = 0; stop.current = null; };
    stop.current = follow(`${path}/messages/${message.id}/events`, (kind, data) => {
      if (kind === "title") return setTalk((before) => ({ ...before, title: data.title ?? before.title }));
      if (kind === "error") return setProblem(data);
      said.push([kind, data]);
      if (kind === "ended") { cancelAnimationFrame(waiting); flush(); } else waiting ||= requestAnimationFrame(flush);
    }, { once: true, ended: (error) => { over(); if (error) setProblem(error); else load(); } });
  }, [path]);

  const looking = useRef({ work: /** @type {Promise<void> | null} */ (null), again: false, path });
  const load = useCallback(() => { // an earlier answer never comes after a later one
    if (looking.current.path !== path) looking.current = { work: null, again: false, path };
    const now = looking.current;
    now.again = true;
    now.work ??= (async () => {
      for (; now.again && looking.current === now; ) {
        now.again = false;
        await lookOnce(now);
      }
      now.work = null;
    })();
    return now.work;
  }, [path]);
  const lookOnce = async (/** @type {object} */ now) => {
    try {
      const found = await get(path);
      if (looking.current !== now) return;
      setTalk((before) => {
        const steps = new Map(before.messages.map((one) => [one.id, one]));
        const messages = found.messages.map((one) => (one.status === "running"
          ? (following.current === one.id && steps.get(one.id)) || fresh(one) : { ...one, steps: steps.get(one.id)?.steps || [] }));
        return { ...found, state: "ready", messages };
      });
      const running = found.messages.find((one) => one.status === "running");
      if (running) listen(running);
    } catch (/** @type {any} */ error) {
      if (error.status === 404 || error.status === 403) setTalk({ state: "lost", messages: [] });
      else setProblem(error);
    }
  };

  useEffect(() => {
    load();
    const back = () => document.visibilityState === "visible" && load();
    addEventListener("focus", back);
    const tabs = (others.current = new BroadcastChannel(`conversation ${id}`));
    tabs.onmessage = load;
    return () => { tabs.close(); removeEventListener("focus", back); stop.current?.(); stop.current = null; following.current = 0; };
  }, [path]);

  const doing = (work) => async (...given) => {
    setProblem(null);
    try {
      const made = await work(...given), times = followed.current.get(made?.id);
      others.current?.postMessage("changed");
      await load();
      if (made?.status === "running" && followed.current.get(made.id) === times) listen(made); // it ended before it was looked for
      return made || true;
    } catch (/** @type {any} */ error) {
      setProblem(error);
      if (error.status === 409) load();
      return false;
    }
  };
  return {
    talk, problem, dismiss: () => setProblem(null), path,
    ask: doing((question, effort) => post(`${path}/messages`, { question, effort })),
    edit: doing((message, question, effort) => post(`${path}/messages/${message}/edit`, { question, effort })),
    again: doing((message, effort) => post(`${path}/messages/${message}/again`, { effort })),
    cancel: doing((message) => post(`${path}/messages/${message}/cancel`, {})),
    branch: doing((message) => change("PATCH", path, { branch: message })),
    rename: doing((title) => change("PATCH", path, { title })),
    narrow: doing((documents) => change("PATCH", path, { documents })),
    remove: () => change("DELETE", path),
  };
}
