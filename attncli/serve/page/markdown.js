// The part of Markdown that model cards use: headings, paragraphs, lists, tables, code.
import { make } from "./dom.js";

export function markdown(text) {
  const holder = make("div", { className: "markdown" });
  for (const block of blocks(text)) holder.append(shown(block));
  return holder;
}

function blocks(text) {
  const lines = text.replace(/\r/g, "").split("\n").map((line) => line.replace(/^(#{1,6} .*)$/, "\n$1\n"));
  return lines.join("\n").split(/\n\s*\n/).filter((block) => block.trim()).map((block) => block.replace(/^\n+|\n+$/g, ""));
}

function shown(block) {
  const heading = /^(#{1,6}) +(.*)$/.exec(block);
  if (heading) return make(`h${Math.min(heading[1].length + 1, 4)}`, {}, ...inline(heading[2]));
  if (/^ {4}/.test(block)) return make("pre", { tabIndex: 0 }, make("code", {}, block.replace(/^ {4}/gm, "")));
  if (/^\|/.test(block)) return make("div", { className: "table", tabIndex: 0 }, table(block));
  if (/^[-*] /.test(block)) {
    const items = block.split(/\n(?=[-*] )/).map((item) => make("li", {}, ...inline(item.slice(2))));
    return make("ul", {}, ...items);
  }
  return make("p", {}, ...inline(block));
}

function table(block) {
  const rows = block.split("\n").filter((line) => !/^\|[\s:|-]+\|?$/.test(line))
    .map((line) => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim()));
  const row = (cells, kind) => make("tr", {}, ...cells.map((cell) => make(kind, {}, ...inline(cell))));
  return make("table", {}, make("thead", {}, row(rows[0], "th")),
    make("tbody", {}, ...rows.slice(1).map((cells) => row(cells, "td"))));
}

function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (/^`.+`$/.test(part)) return make("code", {}, part.slice(1, -1));
    if (/^\*\*.+\*\*$/.test(part)) return make("strong", {}, part.slice(2, -2));
    return part.replace(/\s+/g, " ");
  });
}
