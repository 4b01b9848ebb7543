// A frame on a picture: drawn and moved with the pointer, or with the arrow keys. Its sides are shares of the picture.
import { make } from "./dom.js";
import { t } from "./texts.js";

const STEP = 0.05, MIN_DRAG = 0.02, START = [0.25, 0.25, 0.75, 0.75];
const within = (share) => Math.min(Math.max(share, 0), 1);

// flat: a stretch from left to right, as of sound. changed(sides, ends): for each change; null without a frame.
export function frameOn(holder, flat, changed) {
  const frame = make("div", { className: "frame", tabIndex: 0, role: "application", hidden: true });
  let sides = null, drag = null;
  holder.append(frame);
  holder.classList.add("framed");

  function set(next, ends = true) {
    sides = next && next.map((side, n) => (flat && n % 2 ? (n > 1 ? 1 : 0) : within(side)));
    frame.hidden = !sides;
    if (sides) {
      const [left, top, right, bottom] = sides.map((side) => `${(100 * side).toFixed(1)}%`);
      Object.assign(frame.style, { left, top, right: `calc(100% - ${right})`, bottom: `calc(100% - ${bottom})` });
      frame.setAttribute("aria-label", t("Look here: {left} to {right}; arrow keys move it, with Shift resize it, Delete takes it away", { left, right }));
    }
    changed(sides, ends);
  }
  const moved = (x, y) => {
    const [left, top, right, bottom] = drag?.sides ?? sides, dx = within(left + x) - left, dy = within(top + y) - top;
    const across = Math.min(dx, 1 - right), down = Math.min(dy, 1 - bottom);
    return [left + across, top + down, right + across, bottom + down];
  };
  const place = ({ clientX, clientY }) => {
    const { left, top, width, height } = holder.getBoundingClientRect();
    return [within((clientX - left) / width), within((clientY - top) / height)];
  };
  holder.onpointerdown = (event) => {
    if (event.button || (event.pointerType !== "mouse" && frame.hidden)) return;  // a finger scrolls until there is a frame
    drag = { from: place(event), sides: event.target === frame ? sides : null };
    holder.setPointerCapture(event.pointerId);
    event.preventDefault();
  };
  holder.onpointermove = (event) => {
    if (!drag) return;
    const [x, y] = place(event), [a, b] = drag.from;
    if (drag.sides) set(moved(x - a, y - b), false);
    else if (Math.abs(x - a) > MIN_DRAG) set([Math.min(a, x), Math.min(b, y), Math.max(a, x), Math.max(b, y)], false);
  };
  holder.onpointerup = holder.onpointercancel = () => {
    if (drag && sides) { changed(sides, true); frame.focus({ preventScroll: true }); }
    drag = null;
  };
  frame.onkeydown = (event) => {
    const x = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key] ?? 0, y = { ArrowUp: -STEP, ArrowDown: STEP }[event.key] ?? 0;
    if (event.key === "Delete" || event.key === "Escape") set(null);
    else if (!x && !y) return;
    else if (!event.shiftKey) set(moved(x, y));
    else set([sides[0], sides[1], Math.max(sides[2] + x, sides[0] + STEP), Math.max(sides[3] + y, sides[1] + STEP)]);
    event.preventDefault();
  };
  return { begin() { set(START); frame.focus(); }, clear() { set(null); } };
}

// Call `work` for the last of many changes, one at a time.
export function latest(work) {
  let busy = false, next = null;
  return async (...given) => {
    next = given;
    if (busy) return;
    busy = true;
    try {
      while (next) { const now = next; next = null; await work(...now); }
    } finally { busy = false; }
  };
}
