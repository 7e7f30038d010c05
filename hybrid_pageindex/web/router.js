// Where the page is: the part of the address behind '#'.
import { useEffect, useRef, useState } from "./ui.js";

/** @typedef {{ name: string, parts: string[], given: URLSearchParams }} Place */

/** @returns {Place} `#/doc/a/b?x=1` is doc with [a, b] and x */
export function place() {
  const [, path, given = ""] = location.hash.match(/^#?\/?([^?]*)\??(.*)$/s) ?? []; // a question may hold a «?»
  const [name = "", ...parts] = path.split("/").map(plain);
  return { name, parts, given: new URLSearchParams(given) };
}

/** @param {string} part */
function plain(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Take a token out of the fragment, which browsers send to nobody: it is exchanged for a cookie. @param {string} hash */
export function tokenOf(hash) {
  const token = new URLSearchParams(hash.slice(1)).get("token");
  if (token) history.replaceState(null, "", location.pathname + location.search);
  return token;
}

export function usePlace() {
  const [here, move] = useState(place);
  const drawn = useRef(location.hash);
  useEffect(() => {
    const moved = () => {
      tokenOf(location.hash);
      move(place());
    };
    addEventListener("hashchange", moved);
    if (location.hash !== drawn.current) moved(); // it changed before anything listened
    return () => removeEventListener("hashchange", moved);
  }, []);
  return here;
}

/** @param {(string | number)[]} parts @param {Record<string, unknown>} [given] */
export function link(parts, given = {}) {
  const kept = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const asked = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return "#/" + parts.map((part) => encodeURIComponent(part)).join("/") + (asked && "?" + asked);
}

/** A document, at the page that was read last. @param {string} library @param {string} doc */
export const docLink = (library, doc) => link(["doc", library, doc]);

/** @param {string} library @param {string} doc @param {number} page @param {string} [highlight] */
export const pageLink = (library, doc, page, highlight) => link(["doc", library, doc, "page", page], { hl: highlight });

/** @param {string} href @param {boolean} [replace] whether 'back' shall not return here */
export function go(href, replace = false) {
  if (replace) {
    history.replaceState(null, "", href);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = href;
}
