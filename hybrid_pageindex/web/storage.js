// What the browser remembers of a person's choices; a browser that forbids it forgets them with the page.

/** @type {Map<string, string>} */
const own = new Map();

/** @param {string} name @param {"local" | "session"} [where] "" for nothing */
export function remembered(name, where = "local") {
  try {
    return (where === "local" ? localStorage : sessionStorage).getItem(name) ?? "";
  } catch {
    return own.get(name) ?? "";
  }
}

/** @param {string} name @param {string} value "" forgets @param {"local" | "session"} [where] */
export function remember(name, value, where = "local") {
  own.set(name, value);
  try {
    const storage = where === "local" ? localStorage : sessionStorage;
    if (value) storage.setItem(name, value);
    else storage.removeItem(name);
  } catch { /* forbidden, or full: `own` has it */ }
}
