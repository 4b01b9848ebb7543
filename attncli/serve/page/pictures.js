// Pictures that a user saves: SVG as text, and PNG drawn from it.
import { make } from "./dom.js";

const HEAD = 26, MARGIN = 12, SMALL = 11, CELL = 22, SHARES = [0, 0.25, 0.5, 0.75, 1];  // pixels, and cells of a scale
const ACROSS = 4;  // pictures of a row
const SCALE = 2, MAX_SIDE = 8192;  // pixels of a PNG for one of the page, and of its longer side at most

export function escaped(text) {
  return String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "")
    .replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
}

export function textWidth(text, size, weight = "normal") {
  const pen = make("canvas").getContext("2d");
  pen.font = `${weight} ${size}px "DejaVu Sans", "Noto Sans", sans-serif`;
  return pen.measureText(text).width;
}

// A picture with its title above it and the scale of its colours below it, from the weight at one end to that at the other.
// paint(share): the attributes of a cell of the scale.
export function headed(title, { width, height, content }, [low, high], paint) {
  const text = (x, y, words) => `<text x="${x}" y="${y}" font-size="${SMALL}" fill="#1a1c22">${escaped(words)}</text>`;
  const below = height + HEAD, first = MARGIN + textWidth(low, SMALL) + 6;
  const cells = SHARES.map((share, n) => `<rect x="${first + CELL * n}" y="${below}" width="${CELL}" height="12" ${paint(share)}/>`);
  const after = first + CELL * SHARES.length + 6, longest = Math.max(MARGIN + textWidth(title, SMALL), after + textWidth(high, SMALL));
  return { width: Math.ceil(Math.max(width, longest + MARGIN)), height: below + 24,
    content: [text(MARGIN, 18, title), `<g transform="translate(0 ${HEAD})">${content}</g>`,
      text(MARGIN, below + 10, low), ...cells, text(after, below + 10, high)].join("") };
}

// Save pictures side by side, in rows. A picture is {width, height, content}: the inner part of an SVG.
export async function savePicture(pictures, name, type) {
  if (!pictures.length) return;
  const parts = [];
  let width = 0, height = 0;
  for (let at = 0; at < pictures.length; at += ACROSS) {
    const row = pictures.slice(at, at + ACROSS);
    let x = 0;
    for (const one of row) {
      parts.push(`<g transform="translate(${x} ${height})">${one.content}</g>`);
      x += one.width;
    }
    width = Math.max(width, x);
    height += Math.max(...row.map((one) => one.height));
  }
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="DejaVu Sans, Noto Sans, sans-serif"><rect width="100%" height="100%" fill="#fff"/>${parts.join("")}</svg>`;
  const blob = new Blob([svg], { type: "image/svg+xml" });
  save(type === "svg" ? blob : await drawn(blob, width, height), `${name}.${type}`);
}

export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

async function drawn(blob, width, height) {
  const address = URL.createObjectURL(blob), scale = Math.min(SCALE, MAX_SIDE / Math.max(width, height));
  const image = await new Promise((done, fail) => {
    const found = make("img", { onload: () => done(found), onerror: fail, src: address });
  });
  const canvas = make("canvas", { width: width * scale, height: height * scale });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
