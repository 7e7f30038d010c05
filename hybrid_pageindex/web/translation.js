// What the server says in English, in the language of the page: sentences by their patterns, others as they are.
import { language } from "./i18n.js";

/** @type {[RegExp, string][]} */
const patterns = language === "en" ? [] : (await (await fetch(`/web/texts/${language}.said.json`)).json())
  .map((/** @type {[string, string]} */ [said, text]) => [new RegExp(`^${said}$`, "s"), text]);

/** @param {string} part */
function whole(part) {
  for (const [said, text] of patterns) if (said.test(part)) return part.replace(said, text);
  return "";
}

/** One sentence, or several parts with signs between them, each of which may be known. @param {string} sentence */
export function told(sentence) {
  if (!patterns.length || !sentence) return sentence;
  return whole(sentence) || sentence.split(/(; |, | \()/).map((part) => whole(part) || part).join("");
}
