// Pictures that a user saves: SVG as text, and PNG drawn from it.
import { make } from "./dom.js";

const SCALE = 2, MOST = 8192;  // pixels of a PNG for one of the page, and of its longer side at most

export function escaped(text) {
  return String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "")
    .replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
}

export function textWidth(text, size) {
  const pen = make("canvas").getContext("2d");
  pen.font = `${size}px "DejaVu Sans", "Noto Sans", sans-serif`;
  return pen.measureText(text).width;
}

// Save pictures side by side. A picture is {width, height, content}: the inner part of an SVG.
export async function savePicture(pictures, name, type) {
  if (!pictures.length) return;
  const width = pictures.reduce((sum, one) => sum + one.width, 0), height = Math.max(...pictures.map((one) => one.height));
  let x = 0;
  const parts = pictures.map((one) => {
    const part = `<g transform="translate(${x} 0)">${one.content}</g>`;
    x += one.width;
    return part;
  });
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
  const address = URL.createObjectURL(blob), scale = Math.min(SCALE, MOST / Math.max(width, height));
  const image = await new Promise((done, fail) => {
    const found = make("img", { onload: () => done(found), onerror: fail, src: address });
  });
  const canvas = make("canvas", { width: width * scale, height: height * scale });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
