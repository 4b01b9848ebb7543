// The attention of one line: which of its maps is drawn, all heads small, and pictures to save.
import { $, make, refill } from "./dom.js";
import { heatMap, heatPicture } from "./heatmap.js";
import { savePicture } from "./pictures.js";
import { language, t } from "./texts.js";

const KINDS = {  // name, its field of an alignment, the words of its rows and columns, and a note below it
  cross: ["Cross-attention", "heads", "target", "source"],
  source: ["Encoder self-attention", "source_heads", "source", "source"],
  target: ["Decoder self-attention", "target_heads", "target", "target",
    "Rows leave out the weight on the start mark, so they sum to less than 100."],
};
const THUMB = 4;  // pixels of a cell in a small map
let drawn = [];  // the pictures of the maps that are shown

export function startAttention(redraw) {
  for (const id of ["kind", "layer", "head"]) $(id).onchange = redraw;
  $("heads").ontoggle = redraw;
  for (const type of ["svg", "png"]) $(`attention-${type}`).onclick = () => savePicture(drawn, "attention", type);
}

// Weight of target word j on source word i: of the alignment, or of the chosen layer and head.
export function crossWeight(alignment) {
  const layers = $("kind").value === "cross" ? alignment.heads : null;
  return weightOf(layers, $("layer").value, $("head").value, alignment.weights);
}

function weightOf(layers, layer, head, aligned) {
  if (layer === "" || !layers) return (i, j) => aligned?.[j]?.[i] ?? 0;
  const chosen = layers[Number(layer)];
  if (!chosen) return (i, j) => aligned?.[j]?.[i] ?? 0;
  if (head !== "") return (i, j) => chosen[Number(head)]?.[j]?.[i] ?? 0;
  return (i, j) => chosen.reduce((sum, one) => sum + one[j][i], 0) / chosen.length;
}

// Offer what an alignment has.
export function offerLayers(alignment) {
  const kinds = Object.entries(KINDS).filter(([name, [, field]]) => name === "cross" || alignment[field]?.length);
  refill($("kind"), kinds.map(([name, [title]]) => [name, t(title)]));
  const layers = alignment[KINDS[$("kind").value][1]] ?? [];
  const numbered = (size, word) => [...Array(size).keys()].map((n) => [`${n}`, `${t(word)} ${n + 1}`]);
  const first = $("kind").value === "cross" ? [["", t("as aligned")]] : [];
  refill($("layer"), [...first, ...numbered(layers.length, "layer")]);
  refill($("head"), [["", t("mean")], ...numbered(layers[0]?.length ?? 0, "head")]);
  $("head").parentElement.hidden = $("layer").value === "";  // the title names that of the alignment
  $("head").disabled = (layers[0]?.length ?? 0) < 2;
  $("heads").hidden = !layers.length;
}

// Draw the chosen map of an alignment; return the function that marks its words.
// read: how hard attention is read; "" if it is not hard.
export function drawMap(holder, alignment, model, read, tell) {
  const kind = $("kind").value, layer = $("layer").value, head = $("head").value;
  const [title, field, rows, columns, note = ""] = KINDS[kind];
  const has = layer !== "" && Number(layer) < (alignment[field]?.length ?? 0);  // another model may have fewer
  if (kind !== "cross" && !has) { holder.replaceChildren(); return () => {}; }
  const weight = weightOf(alignment[field], has ? layer : "", head, alignment.weights);
  const where = !has ? alignment.shown : `${t("layer")} ${Number(layer) + 1}, ${head === "" ? t("mean of all heads") : `${t("head")} ${Number(head) + 1}`}`;
  const hard = has && kind === "cross" ? read : "";  // `shown` names it itself
  const map = {
    rows: alignment[rows], columns: alignment[columns], weight, note: t(note),
    title: `${[model, language === "en" ? title.toLowerCase() : t(title), hard, where].filter(Boolean).join(", ")}; ${t("weights in percent")}`,
  };
  drawn.push(heatPicture(map));
  const mark = heatMap(holder, map, kind === "cross" ? tell : (j, i) => mark("target", j, i));
  return kind === "cross" ? mark : (side, j, i) => { if (j < 0) mark("target", -1, i); };
}

export function forgetMaps() {
  drawn = [];
}

// Every layer and head as a small map with its name; a click draws it large.
export function drawHeads(alignment, redraw) {
  const layers = alignment[KINDS[$("kind").value][1]] ?? [];
  if (!$("heads").open) return;
  $("heads").querySelector("div").replaceChildren(...layers.flatMap((heads, l) => heads.map((weights, h) => {
    const name = `${t("layer")} ${l + 1}, ${t("head")} ${h + 1}`;
    const button = make("button", { className: "thumb", title: t("Draw {name}", { name }) }, thumbnail(weights), make("span", {}, name));
    button.onclick = () => { $("layer").value = `${l}`; $("head").value = `${h}`; redraw(); };
    return button;
  })));
}

function thumbnail(weights) {
  const canvas = make("canvas", { width: THUMB * weights[0].length, height: THUMB * weights.length, "aria-hidden": "true" });
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(document.body).getPropertyValue("--heat");
  weights.forEach((row, j) => row.forEach((weight, i) => {
    pen.globalAlpha = Math.min(Math.max(weight, 0), 1);
    pen.fillRect(THUMB * i, THUMB * j, THUMB, THUMB);
  }));
  return canvas;
}
