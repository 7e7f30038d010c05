// The addresses of a document's parts; those with a content never show another one, so browsers keep them.
import { at, query } from "../../api.js";

/** @param {string} library @param {string} doc */
export const documentPath = (library, doc) => at("libraries", library, "documents", doc);

/** @param {string} path below the API, for what the browser fetches itself */
export const address = (path) => `/api/v1${path}`;

/** Below the API. @param {string} base @param {number} number @param {string} content @param {number} scale */
export const picturePath = (base, number, content, scale) => `${base}/pages/${number}/picture${query({ of: content, scale })}`;

/** @param {string} base @param {number} number @param {string} content @param {number} scale */
export const pictureOf = (base, number, content, scale) => address(picturePath(base, number, content, scale));

/** @param {string} base @param {number} number @param {string} content */
export const thumbnailOf = (base, number, content) => address(`${base}/pages/${number}/thumbnail${query({ of: content, side: 200 })}`);
