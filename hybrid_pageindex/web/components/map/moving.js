// Moving and zooming a drawing: by dragging, by the wheel, by two fingers, and by calls.
import { useCallback, useEffect, useRef, useState } from "../../ui.js";

/** @typedef {{ x: number, y: number, scale: number }} View where the drawing's origin stands in the window, in CSS pixels */

const SMALLEST = 0.15, LARGEST = 2.5, SLACK = 4; // px that a pointer moves before it drags

const limited = (/** @type {number} */ scale) => Math.min(Math.max(scale, SMALLEST), LARGEST);

/** @param {View} view @param {number} by @param {number} x @param {number} y the place that stays where it is @returns {View} */
export function zoomed(view, by, x, y) {
  const scale = limited(view.scale * by), ratio = scale / view.scale;
  return { scale, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio };
}

/** @param {{ current: HTMLElement | SVGElement | null }} stage */
export function useMoving(stage) {
  const [view, setView] = useState(/** @type {View} */ ({ x: 16, y: 16, scale: 1 }));
  const pointers = useRef(/** @type {Map<number, { x: number, y: number }>} */ (new Map())), moved = useRef(false);
  const size = () => ({ width: stage.current?.clientWidth ?? 0, height: stage.current?.clientHeight ?? 0 });

  const zoom = useCallback((/** @type {number} */ by) => {
    const { width, height } = size();
    setView((now) => zoomed(now, by, width / 2, height / 2));
  }, []);
  /** Show all of a drawing, but not so small that nothing can be read. */
  const fit = useCallback((/** @type {number} */ wide, /** @type {number} */ high, least = 0.5) => {
    const { width, height } = size(), scale = Math.min(Math.max(Math.min((width - 32) / wide, (height - 32) / high, 1), least), LARGEST);
    setView({ scale, x: 16, y: Math.max((height - high * scale) / 2, 16) });
  }, []);
  /** Bring a part into sight. */
  const reveal = useCallback((/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ wide, /** @type {number} */ high) => {
    const { width, height } = size();
    setView((now) => {
      const left = x * now.scale + now.x, top = y * now.scale + now.y, right = left + wide * now.scale, bottom = top + high * now.scale;
      const across = left < 16 ? 16 - left : right > width - 16 ? Math.max(width - 16 - right, 16 - left) : 0;
      const down = top < 16 ? 16 - top : bottom > height - 16 ? height - 16 - bottom : 0;
      return across || down ? { ...now, x: now.x + across, y: now.y + down } : now;
    });
  }, []);
  /** Put a place of the drawing back where it was, after it was laid out anew. */
  const shift = useCallback((/** @type {number} */ x, /** @type {number} */ y) => setView((now) => ({ ...now, x: now.x + x * now.scale, y: now.y + y * now.scale })), []);

  useEffect(() => {
    const element = stage.current;
    if (!element) return;
    const wheel = (/** @type {any} */ event) => {
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) setView((now) => zoomed(now, Math.exp(-event.deltaY / 300), event.clientX - left, event.clientY - top));
      else setView((now) => ({ ...now, x: now.x - (event.shiftKey ? event.deltaY : event.deltaX), y: now.y - (event.shiftKey ? 0 : event.deltaY) }));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);

  const down = (/** @type {PointerEvent} */ event) => {
    moved.current = false;
    pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
  };
  const move = (/** @type {PointerEvent} */ event) => {
    const before = pointers.current.get(event.pointerId), element = stage.current;
    if (!before || !element) return;
    const now = { x: event.clientX, y: event.clientY };
    if (!moved.current && Math.hypot(now.x - before.x, now.y - before.y) < SLACK) return;
    moved.current = true;
    element.setPointerCapture?.(event.pointerId);
    const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1];
    const { left, top } = element.getBoundingClientRect();
    if (!other) setView((view) => ({ ...view, x: view.x + now.x - before.x, y: view.y + now.y - before.y }));
    else {
      const by = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(Math.hypot(before.x - other.x, before.y - other.y), 1);
      setView((view) => zoomed(view, by, (now.x + other.x) / 2 - left, (now.y + other.y) / 2 - top));
    }
    pointers.current.set(event.pointerId, now);
  };
  const up = (/** @type {PointerEvent} */ event) => void pointers.current.delete(event.pointerId);
  return { view, zoom, fit, reveal, shift, moved, handlers: { onPointerDown: down, onPointerMove: move, onPointerUp: up, onPointerCancel: up } };
}
