// The heat map of one line: rows are words of the translation, columns are source words.
import { make } from "./dom.js";

// Returns a function that marks a word: mark("source" | "target", index); index -1 clears.
export function heatMap(holder, alignment, weight, title, tell) {
  const { source, target } = alignment;
  if (!source.length || !target.length) {
    holder.replaceChildren();
    return () => {};
  }
  const tops = source.map((word) => make("th", { scope: "col" }, make("bdi", {}, word)));
  const rows = target.map((word, j) => {
    const cells = source.map((other, i) => cell(word, other, weight(i, j), () => tell(j, i)));
    return make("tr", {}, make("th", { scope: "row", title: word }, make("bdi", {}, word)), ...cells);
  });
  const table = make("table", { className: "heat" }, make("caption", {}, title),
    make("thead", {}, make("tr", {}, make("td", { className: "corner" }), ...tops)), make("tbody", {}, ...rows));
  table.onmouseleave = () => tell(-1, -1);
  holder.replaceChildren(table);
  return (side, n, crossing = -1) => {
    table.querySelectorAll(".at").forEach((element) => element.classList.remove("at"));
    if (n < 0) return;
    if (side === "target") rows[n]?.firstChild.classList.add("at");
    const column = side === "source" ? n : crossing;
    tops[column]?.classList.add("at");
    if (side === "target" && crossing >= 0) rows[n]?.children[crossing + 1]?.classList.add("at");
  };
}

function cell(word, other, value, enter) {
  const percent = Math.round(100 * value);
  const found = make("td", { title: `${word} ← ${other}: ${value.toFixed(3)}` }, percent ? `${percent}` : "");
  found.style.background = `color-mix(in srgb, var(--heat) ${percent}%, var(--back))`;
  if (percent > 55) found.classList.add("strong");
  found.onmouseenter = enter;
  return found;
}
