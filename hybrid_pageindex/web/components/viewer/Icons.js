import { html } from "../../ui.js";

const PATHS = {
  back: "M15 5l-7 7 7 7", next: "M9 5l7 7-7 7", up: "M5 15l7-7 7 7", down: "M5 9l7 7 7-7", close: "M6 6l12 12M18 6L6 18",
  minus: "M5 12h14", plus: "M12 5v14M5 12h14", rotate: "M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6",
  find: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5", download: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  cite: "M9 7H5v5h4v-1c0 3-1 4.500-3 5.500M19 7h-4v5h4v-1c0 3-1 4.500-3 5.500", keys: "M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M8 14h8",
  strip: "M4 4h5v6H4zM4 14h5v6H4zM13 4h7v16h-7z", width: "M3 12h18M7 8l-4 4 4 4M17 8l4 4-4 4", whole: "M6 3h12v18H6z", pair: "M3 5h8v14H3zM13 5h8v14h-8z",
  remove: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13", stop: "M7 7h10v10H7z", send: "M5 12h13M12 5l7 7-7 7", edit: "M4 20l1-5L16 4l4 4L9 19z", again: "M4 12a8 8 0 1 1 2.500 5.800M4 20v-5h5",
  highlight: "M4 20h16M8 16l-2-2L15 5l4 4-9 9H6v-2", note: "M6 3h9l4 4v14H6zM9 12h7M9 16h5", good: "M7 11v9H4v-9zM7 11l4-8c2 0 2.500 1.500 2 4l-.5 2.500H19c1 0 1.500 1 1.300 2l-1.500 6.500c-.2 1-.8 2-2 2H7",
  bad: "M17 13V4h3v9zM17 13l-4 8c-2 0-2.500-1.500-2-4l.5-2.500H5c-1 0-1.500-1-1.300-2l1.500-6.500c.2-1 .8-2 2-2H17", copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  help: "M9.5 9a2.500 2.500 0 1 1 3.500 2.300c-.7.4-1 .9-1 1.700M12 16.500h.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z", theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 1 1 0 18",
  map: "M3 9h5v6H3zM16 3h5v5h-5zM16 16h5v5h-5zM8 12h4M16 5.500h-4v13h4",
  sources: "M4 5h16M4 12h16M4 19h10", export: "M12 15V4M7 8.500l5-5 5 5M5 14v6h14v-6", warn: "M12 4l9 16H3zM12 10v5M12 17.500h.01",
};

/** A drawing that stands beside words, or in a button with a label; nobody needs to hear of it. */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}

export function IconButton({ icon, label, keys = "", pressed, ...rest }) {
  return html`<button type="button" class="icon-button" title=${keys ? `${label} (${keys})` : label} aria-label=${label}
    aria-pressed=${pressed === undefined ? undefined : String(pressed)} ...${rest}><${Icon} name=${icon} /></button>`;
}
