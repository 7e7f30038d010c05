// Light, dark or high contrast: as the browser asks, or as was chosen.
import { remember, remembered } from "./storage.js";

export const THEMES = ["auto", "light", "dark", "contrast"];

export const theme = () => (THEMES.includes(remembered("theme")) ? remembered("theme") : "auto");

/** @param {string} name one of THEMES */
export function wear(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  remember("theme", name);
}

wear(theme());
