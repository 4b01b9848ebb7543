// A heat map: each row is a word that reads, each column a word that is read.
import { make } from "./dom.js";
import { escaped, headed, textWidth } from "./pictures.js";

const CELL = 30, GAP = 2, SIZE = 13, SMALL = 11, MARGIN = 12;  // pixels of a picture
const INK = "#1a1c22", HEAT = "#1d4ed8";

// Returns a function that marks a word: mark("source" | "target", index); index -1 clears.
export function heatMap(holder, { rows, columns, weight, title, note }, tell) {
  if (!rows.length || !columns.length) {
    holder.replaceChildren();
    return () => {};
  }
  const tops = columns.map((word) => make("th", { scope: "col" }, make("bdi", {}, word)));
  const lines = rows.map((word, j) => {
    const cells = columns.map((other, i) => cell(word, other, weight(i, j), () => tell(j, i)));
    return make("tr", {}, make("th", { scope: "row", title: word }, make("bdi", {}, word)), ...cells);
  });
  const table = make("table", { className: "heat" }, make("caption", {}, make("span", {}, title)),
    make("thead", {}, make("tr", {}, make("td", { className: "corner" }), ...tops)), make("tbody", {}, ...lines));
  table.onmouseleave = () => tell(-1, -1);
  holder.replaceChildren(table, note && make("p", { className: "soft" }, note));
  return (side, n, crossing = -1) => {
    table.querySelectorAll(".at").forEach((element) => element.classList.remove("at"));
    if (n < 0) return;
    if (side === "target") lines[n]?.firstChild.classList.add("at");
    const column = side === "source" ? n : crossing;
    tops[column]?.classList.add("at");
    if (side === "target" && crossing >= 0) lines[n]?.children[crossing + 1]?.classList.add("at");
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

// The map as a picture for a paper: dark on white, with title and scale; see `headed`.
export function heatPicture({ rows, columns, weight, title, note }) {
  const left = MARGIN + Math.max(...rows.map((word) => textWidth(word, SIZE))) + 8;
  const top = MARGIN + Math.max(...columns.map((word) => textWidth(word, SIZE))) + 8;
  const right = left + CELL * columns.length, bottom = top + CELL * rows.length;
  const parts = columns.map((word, i) => label(word, left + CELL * (i + 0.5) + 4, top - 6, ` transform="rotate(-90 ${left + CELL * (i + 0.5) + 4} ${top - 6})"`));
  rows.forEach((word, j) => {
    parts.push(label(word, left - 8, top + CELL * (j + 0.5) + 5, ' text-anchor="end"'));
    columns.forEach((_, i) => {
      const share = Math.min(Math.max(weight(i, j), 0), 1), x = left + CELL * i, y = top + CELL * j;
      parts.push(`<rect x="${x}" y="${y}" width="${CELL - GAP}" height="${CELL - GAP}" rx="4" fill="#f1f3f7"/>`);
      if (share < 0.005) return;
      parts.push(`<rect x="${x}" y="${y}" width="${CELL - GAP}" height="${CELL - GAP}" rx="4" fill="${HEAT}" fill-opacity="${share.toFixed(3)}"/>`);
      const figure = { "font-size": 10, fill: share > 0.55 ? "#fff" : INK, "text-anchor": "middle" };
      parts.push(label(Math.round(100 * share), x + CELL / 2 - 1, y + CELL / 2 + 3, attributes(figure)));
    });
  });
  if (note) parts.push(label(note, MARGIN, bottom + 16, ` font-size="${SMALL}"`));
  const width = Math.ceil(MARGIN + Math.max(right, MARGIN + textWidth(note, SMALL))), height = Math.ceil(bottom + (note ? 30 : 12));
  const blue = (share) => `fill="${HEAT}" fill-opacity="${share}" stroke="#d9dce3"`;
  return headed(title, { width, height, content: parts.join("") }, ["0 %", "100 %"], blue);
}

function label(text, x, y, more = "") {
  const size = more.includes("font-size") ? "" : ` font-size="${SIZE}"`, ink = more.includes("fill=") ? "" : ` fill="${INK}"`;
  return `<text x="${x}" y="${y}"${size}${ink}${more}>${escaped(text)}</text>`;
}

function attributes(values) {
  return Object.entries(values).map(([name, value]) => ` ${name}="${value}"`).join("");
}
