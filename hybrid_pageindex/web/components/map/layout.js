// Where the sections of a document stand on its map: levels from left to right, each section beside the middle of its parts.

/** @typedef {{ node_id: string, title: string, start_page: number, end_page: number, summary?: string, node_score?: number,
 *   best_pages?: number[], nodes?: Section[] }} Section */
/** @typedef {{ section: Section, level: number, x: number, y: number, above: Spot | null, inner: number, open: boolean }} Spot */

export const WIDTH = 220;
export const HEIGHT = 36;
const ACROSS = WIDTH + 70, DOWN = HEIGHT + 10;
const MOST = 300; // parts of one section that are drawn

/**
 * The sections that can be seen. @param {Section} root @param {Set<string>} open sections whose parts are shown
 * @returns {{ spots: Spot[], width: number, height: number }}
 */
export function layOut(root, open) {
  /** @type {Spot[]} */
  const spots = [];
  let line = 0, deepest = 0;
  /** @param {Section} section @param {number} level @param {Spot | null} above @returns {Spot} */
  const put = (section, level, above) => {
    const parts = section.nodes ?? [], isOpen = parts.length > 0 && open.has(section.node_id);
    const spot = { section, level, x: level * ACROSS, y: 0, above, inner: parts.length, open: isOpen };
    spots.push(spot);
    deepest = Math.max(deepest, level);
    const below = isOpen ? parts.slice(0, MOST).map((part) => put(part, level + 1, spot)) : [];
    spot.y = below.length ? (below[0].y + below[below.length - 1].y) / 2 : line++ * DOWN;
    return spot;
  };
  put(root, 0, null);
  return { spots, width: deepest * ACROSS + WIDTH, height: Math.max(line, 1) * DOWN };
}

/** The sections that are open at first: from the top, level by level, while all of them can be read at once.
 * @param {Section} root @param {number} most */
export function firstOpen(root, most = 24) {
  const open = new Set([root.node_id]);
  let shown = root.nodes?.length ?? 0, level = root.nodes ?? [];
  while (level.length) {
    const inner = level.filter((section) => section.nodes?.length), below = inner.flatMap((section) => section.nodes ?? []);
    if (!below.length || shown + below.length > most) break;
    for (const section of inner) open.add(section.node_id);
    shown += below.length;
    level = below;
  }
  return open;
}

/** The best sections for a question, the best first: of a section and its parts the deepest one. @param {Section} root
 * @param {number} most @returns {Section[]} */
export function bestOf(root, most = 5) {
  const deepest = (/** @type {Section} */ section) => {
    const scored = (section.nodes ?? []).filter((part) => (part.node_score ?? 0) > 0);
    return scored.length ? scored.flatMap(deepest) : [section];
  };
  const found = deepest(root).filter((section) => (section.node_score ?? 0) > 0);
  return found.sort((one, other) => (other.node_score ?? 0) - (one.node_score ?? 0)).slice(0, most);
}

/** @param {Section} root @returns {number} the highest score of a section */
export const highest = (root) => Math.max(root.node_score ?? 0, ...(root.nodes ?? []).map(highest));

/** What has to be open for a section to be seen. @param {Section} root @param {string} id @returns {string[]} */
export function wayTo(root, id) {
  for (const part of root.nodes ?? []) {
    const below = part.node_id === id ? [part.node_id] : wayTo(part, id);
    if (below.length) return [root.node_id, ...below];
  }
  return [];
}
