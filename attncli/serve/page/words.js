// Words that can be pointed at, and the weights that light up their counterparts.
import { wordSpans } from "./dom.js";

// Fill an element with a text whose words are spans. `tell(index)` is called for the word that is
// pointed at or reached with the arrow keys; `tell(-1)` when it is left.
export function showWords(holder, text, tell) {
  const parts = text.split(/(\s+)/), isWord = (part) => part && !/^\s+$/.test(part);
  const spans = wordSpans(parts.filter(isWord), tell), rest = spans.values();
  spans.forEach((span) => { span.onmouseleave = span.onblur = () => tell(-1); });
  holder.replaceChildren(...parts.map((part) => isWord(part) ? rest.next().value : part));
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
