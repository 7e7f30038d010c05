import { html } from "../../ui.js";

/** @param {{ id: string }} props */
export function Conversation({ id }) {
  return html`<div class="placeholder">${id}</div>`;
}
