// A caption over its image: each word shows its map; all of them are played as a film.
import { make, wordSpans } from "./dom.js";
import { frameOn, latest } from "./frame.js";
import { escaped, headed, savePicture, textWidth } from "./pictures.js";
import { t } from "./texts.js";

const SIDE = 448, DARK = 0.22, WORD = 900;  // pixels, brightness without attention, milliseconds
const SIZE = 18, MARGIN = 12;  // pixels of a saved caption

// again(look, prefix): the answer with a look at a frame, from left to bottom in shares; null if it is refused.
export async function film(answer, model, again) {
  const picture = await loaded(answer.image), title = `${model}, ${answer.shown}`;
  const scale = SIDE / Math.max(picture.width, picture.height), size = { width: Math.round(scale * picture.width), height: Math.round(scale * picture.height) };
  const canvas = make("canvas", { ...size, role: "img", "aria-label": answer.caption });
  const figures = make("span", { className: "soft" });
  const caption = make("p", { className: "caption", lang: "en" });
  const slider = make("input", { type: "range", min: -1, max: answer.words.length - 1, value: -1, "aria-label": t("Word of the caption") });
  const play = make("button", { className: "icon play", type: "button", title: t("Play the words"), "aria-label": t("Play the words") });
  const saves = ["png", "svg"].map((type) => make("button", { className: "plain", type: "button", title: t("Save the picture"),
    onclick: () => savePicture(stills(Number(slider.value)), `caption-${model}`, type) }, type.toUpperCase()));
  const stage = make("div", { className: "stage" }, canvas), rest = make("div");
  const part = make("button", { className: "plain", type: "button", onclick: () => frame.begin() }, t("Look at a part"));
  const back = make("button", { className: "plain", type: "button", hidden: true, onclick: () => frame.clear() }, t("Take back"));
  const whole = answer;
  stage.style.maxWidth = `min(${size.width}px, 100%)`;
  let timer = 0, first = 0, spans = [], from = -1;

  function write(next, steered) {
    answer = next;
    spans = wordSpans(answer.words, (at) => { stop(); show(at); });
    spans.forEach((span, at) => { span.onclick = span.onfocus; span.classList.toggle("steered", steered && at >= from); });
    caption.replaceChildren(...spans.flatMap((span) => [span, " "]));
    slider.max = answer.words.length - 1;
    canvas.setAttribute("aria-label", answer.caption);
    const others = answer.captions.slice(1).map(({ text }) => make("li", {}, text));
    rest.replaceChildren(others.length ? make("details", { open: true }, make("summary", {}, t("Other captions")), make("ol", {}, ...others)) : "");
  }
  const follow = latest(async (sides) => {  // the caption from the chosen word on, while the frame is drawn and moved
    const next = sides ? await again(sides, whole.words.slice(0, from).map((word) => `${word} `).join("")) : whole;
    if (next) { write(next, Boolean(sides)); show(-1); }
  });
  const frame = frameOn(stage, false, (sides) => {
    if (from < 0) from = timer || first ? 0 : Math.max(0, Number(slider.value));
    stop();
    if (!sides) from = -1;
    back.hidden = !sides;
    follow(sides);
  });

  function show(word) {
    paint(canvas, picture, answer.maps[word]);
    spans.forEach((span, at) => span.classList.toggle("at", at === word));
    slider.value = word;
    slider.setAttribute("aria-valuetext", answer.words[word] ?? t("the whole image"));
    figures.textContent = word < 0 ? "" : [answer.gates && `${t("gate")} ${answer.gates[word].toFixed(2)}`,
      `${t(answer.shown.endsWith("drawn by argmax") ? "entropy of the expectation" : "entropy")} ${answer.entropy[word].toFixed(2)} nats`].filter(Boolean).join(" · ");
  }
  function stills(shown) {  // of the word that is shown; of all words if the whole image is
    const words = shown < 0 ? [...answer.words.keys()] : [shown];
    const found = words.map((word) => { paint(canvas, picture, answer.maps[word]); return still(canvas, answer.words, word, title); });
    paint(canvas, picture, answer.maps[shown]);
    return found;
  }
  function stop() {
    clearInterval(timer);
    clearTimeout(first);
    timer = first = 0;
    playing(false);
  }
  function playing(on) {  // the sign is drawn by the style sheet: fonts have it in many forms, or not
    play.classList.toggle("on", on);
    play.title = t(on ? "Stop" : "Play the words");
    play.setAttribute("aria-label", play.title);
  }
  function run() {
    let at = Number(slider.value) >= answer.words.length - 1 ? -1 : Number(slider.value);
    playing(true);
    show(at);
    timer = setInterval(() => {
      if (!canvas.isConnected || at >= answer.words.length - 1) { stop(); show(-1); return; }
      show(++at);
    }, WORD);
  }
  play.onclick = () => (timer ? stop() : run());
  slider.oninput = () => { stop(); show(Number(slider.value)); };
  write(answer, false);
  show(-1);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) first = setTimeout(run, 400);
  return make("figure", { className: "film" }, stage, make("figcaption", {},
    make("p", { className: "soft" }, title), caption, make("div", { className: "controls" }, play, slider, ...saves),
    make("div", { className: "controls" }, part, back, make("span", { className: "soft" }, t("or drag a frame on the picture: the caption follows"))),
    make("p", {}, figures), rest));
}

// The picture of one word, with the caption below it; see `headed`.
function still(canvas, words, shown, title) {
  const { width: across, height } = canvas, parts = [`<image width="${across}" height="${height}" href="${canvas.toDataURL("image/png")}"/>`];
  let x = MARGIN, y = height + 26;
  words.forEach((word, at) => {
    const width = textWidth(word, SIZE, at === shown ? "bold" : "normal");
    if (x > MARGIN && x + width > across - MARGIN) { x = MARGIN; y += 24; }
    const more = at === shown ? ' font-weight="bold" fill="#1d4ed8"' : ' fill="#1a1c22"';
    parts.push(`<text x="${x}" y="${y}" font-size="${SIZE}"${more}>${escaped(word)}</text>`);
    x += width + 6;
  });
  const grey = (share) => `fill="rgb(${Array(3).fill(Math.round(255 * (DARK + (1 - DARK) * share)))})" stroke="#5c6270"`;
  return headed(title, { width: across, height: y + 16, content: parts.join("") }, [t("weight 0"), t("largest of the word")], grey);
}

function loaded(address) {
  return new Promise((done, fail) => {
    const image = make("img", { onload: () => done(image), onerror: fail, src: address });
  });
}

// The image, dark and grey where the map is 0. No map: the whole image.
function paint(canvas, picture, map) {
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
  if (!map) return;
  const pixels = pen.getImageData(0, 0, canvas.width, canvas.height), { data } = pixels, shares = enlarged(map, canvas);
  for (let at = 0, n = 0; at < data.length; at += 4, n++) {
    const grey = DARK * (0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2]);
    for (let c = at; c < at + 3; c++) data[c] = shares[n] * data[c] + (1 - shares[n]) * grey;
  }
  pen.putImageData(pixels, 0, 0);
}

// The map in the size of the image by bilinear interpolation, divided by its largest value.
function enlarged(map, { width, height }) {
  const rows = map.length, columns = map[0].length, most = Math.max(...map.flat()) || 1;
  const found = new Float32Array(width * height);
  const place = (pixel, pixels, size) => {
    const at = Math.min(Math.max((pixel + 0.5) * size / pixels - 0.5, 0), size - 1), low = Math.floor(at);
    return [low, Math.min(low + 1, size - 1), at - low];
  };
  const across = [...Array(width).keys()].map((x) => place(x, width, columns));
  for (let y = 0; y < height; y++) {
    const [top, bottom, down] = place(y, height, rows);
    for (let x = 0; x < width; x++) {
      const [left, right, over] = across[x];
      const upper = map[top][left] * (1 - over) + map[top][right] * over;
      const lower = map[bottom][left] * (1 - over) + map[bottom][right] * over;
      found[y * width + x] = (upper * (1 - down) + lower * down) / most;
    }
  }
  return found;
}
