// What whoever is signed in may do.
import { createContext, useContext } from "./ui.js";

const ROLES = ["read", "write", "admin"];
const EVERYWHERE = "*";

/** @typedef {(role: "read" | "write" | "admin", library?: string) => boolean} May by a library's id; in all without one */

/** Who is signed in. */
export const Session = createContext(/** @type {{ name?: string, grants?: Record<string, string> }} */ ({}));

/** @returns {May} */
export function useRights() {
  const { grants = {} } = useContext(Session);
  return (role, library = EVERYWHERE) => [EVERYWHERE, library].some((one) => ROLES.indexOf(grants[one] ?? "") >= ROLES.indexOf(role));
}
