// Words that can be pointed at, and the weights that light up their counterparts.
import { make, roving } from "./dom.js";

// Fill an element with a text whose words are spans. `tell(index)` is called for the word that is
// pointed at or reached with the arrow keys; `tell(-1)` when it is left.
export function showWords(holder, text, tell) {
  const spans = [];
  holder.replaceChildren(...text.split(/(\s+)/).map((part) => {
    if (!part || /^\s+$/.test(part)) return part;
    const at = spans.length;
    const span = make("span", { className: "word", tabIndex: at ? -1 : 0 }, part);
    span.onmouseenter = span.onfocus = () => tell(at);
    span.onmouseleave = span.onblur = () => tell(-1);
    span.onkeydown = (event) => {
      const next = roving(spans, event.key, at);
      if (next < 0) return;
      event.preventDefault();
      spans.forEach((one, n) => { one.tabIndex = n === next ? 0 : -1; });
      spans[next].focus();
    };
    spans.push(span);
    return span;
  }));
  return spans;
}

// Colour of a weight from 0 to 1, over whatever is behind it.
export function light(element, weight) {
  const share = Math.round(100 * Math.min(Math.max(weight, 0), 1));
  element.style.background = share > 4 ? `color-mix(in srgb, var(--mark) ${share}%, transparent)` : "transparent";
}

// Where each word of a list stands in a text: [start, end] each.
export function places(text, words) {
  let at = 0;
  return words.map((word) => {
    const start = text.indexOf(word, at);
    if (start < 0) return [at, at];
    at = start + word.length;
    return [start, at];
  });
}
