// What whoever is signed in may do.
import { get } from "./api.js";
import { useEffect, useState } from "./ui.js";

const ROLES = ["read", "write", "admin"];
const EVERYWHERE = "*";

/** @typedef {(role: "read" | "write" | "admin", library?: string) => boolean} May by a library's id; in all without one */

/** @returns {May} nothing, until it is known */
export function useRights() {
  const [grants, setGrants] = useState(/** @type {Record<string, string>} */ ({}));
  useEffect(() => void get("/session").then((session) => setGrants(session.grants), () => null), []);
  return (role, library = EVERYWHERE) => [EVERYWHERE, library].some((one) => ROLES.indexOf(grants[one] ?? "") >= ROLES.indexOf(role));
}
