// The sound view: a recording in, its text out; a word plays from where it is heard.
import { $, acceptDrops, fill, make, tell, wordSpans } from "./dom.js";
import { Refusal, upload } from "./service.js";
import { frameOn, latest } from "./frame.js";
import { offerReads, readOf } from "./models.js";
import { escaped, headed, savePicture, textWidth } from "./pictures.js";
import { t } from "./texts.js";

const RATE = 16000, LONGEST = 600;  // samples a second that are sent of the microphone, and seconds
const EXAMPLE = "digits";  // the model that writes digits, and a recording of three of them
const ROW = 18, BAND = 110, WIDTH = 900;  // pixels of a picture
const say = (text, bad) => tell("sound-state", text, bad);
let offer, sent = null, recorder = null, turn = 0, stopAt = 0;

export function startSound(given) {
  offer = given;
  const models = offer.models.filter((model) => model.task === "transcribe");
  fill($("sound-model"), models.map(({ name }) => [name, name]), models.find((model) => model.default)?.name);
  $("tab-sound").hidden = !models.length;
  $("sound-model").onchange = offered;
  $("sound-read").onchange = () => take(sent);
  offered();
  $("sound-file").onchange = () => take($("sound-file").files[0]);
  acceptDrops($("sound-drop"), ([file]) => take(file));
  $("sound-example").onclick = example;
  $("sound-example").hidden = !models.some(({ name }) => name === EXAMPLE);
  $("record").hidden = !navigator.mediaDevices?.getUserMedia;  // only this machine, or https
  $("record").onclick = () => (recorder ? recorder.stop() : record());
  $("player").ontimeupdate = () => {
    if (stopAt && $("player").currentTime >= stopAt) { $("player").pause(); stopAt = 0; }
  };
  return (name) => { $("sound-model").value = name; offered(); };
}

function offered() {
  const model = chosen();
  offerReads("sound-read", [model]);
  $("sound-knows").textContent = model?.knows ? t("{name} knows only {knows}", model) : model?.summary ?? "";
}

function chosen() {
  return offer.models.find(({ name }) => name === $("sound-model").value);
}

async function example() {
  const recording = await fetch(`/page/${EXAMPLE}.flac`);
  $("sound-model").value = EXAMPLE;
  offered();
  take(new File([await recording.blob()], `${EXAMPLE}.flac`));
}

async function record() {
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const parts = [];
    recorder = new MediaRecorder(stream);
    recorder.ondataavailable = ({ data }) => parts.push(data);
    const end = setTimeout(() => recorder?.stop(), 1000 * LONGEST);
    recorder.onstop = async () => {
      clearTimeout(end);
      stream.getTracks().forEach((track) => track.stop());
      recorder = null;
      $("record").textContent = t("Record");
      take(await asWav(new Blob(parts)));
    };
    recorder.start();
    $("record").textContent = t("Stop");
    say(t("Recording …"));
  } catch (error) {
    recorder = null;
    say(t("The microphone cannot be used: {why}", { why: error.message }), true);
  }
}

// Sound in any format of the browser as WAV, one channel of 16 bits.
async function asWav(blob) {
  const decoded = await new AudioContext().decodeAudioData(await blob.arrayBuffer());
  const offline = new OfflineAudioContext(1, Math.max(1, Math.round(decoded.duration * RATE)), RATE);
  const source = offline.createBufferSource();
  source.buffer = decoded;
  source.connect(offline.destination);
  source.start();
  const samples = (await offline.startRendering()).getChannelData(0), view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at, letters) => [...letters].forEach((letter, n) => view.setUint8(at + n, letter.charCodeAt(0)));
  text(0, "RIFF"); view.setUint32(4, 36 + 2 * samples.length, true); text(8, "WAVEfmt ");
  view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true);
  view.setUint32(24, RATE, true); view.setUint32(28, 2 * RATE, true); view.setUint16(32, 2, true); view.setUint16(34, 16, true);
  text(36, "data"); view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, n) => view.setInt16(44 + 2 * n, 32767 * Math.max(-1, Math.min(1, sample)), true));
  return new Blob([view], { type: "audio/wav" });
}

async function transcribe(file, steering = {}) {
  const values = new URLSearchParams({ model: $("sound-model").value, attention: true, ...steering, read_mode: readOf("sound-read", chosen()).mode });
  return (await upload(`/transcribe?${values}`, file, { "Content-Type": "application/octet-stream" })).json();
}

async function take(file) {
  if (!file) return;
  sent = file;
  const mine = ++turn;
  $("transcript").replaceChildren();
  if (file.size > offer.settings.bodyLimit) { say(t("This file is too large."), true); return; }
  say(t("Listening …"));
  try {
    const started = performance.now();
    const model = $("sound-model").value, read = readOf("sound-read", chosen());
    const answer = await transcribe(file);
    if (mine !== turn) return;
    URL.revokeObjectURL($("player").src);
    $("player").src = URL.createObjectURL(file);
    show(answer, [model, read.name || "attention"].join(", "));
    say(t("{seconds} s of sound in {time} s", { seconds: answer.seconds.toFixed(1), time: ((performance.now() - started) / 1000).toFixed(2) }));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (mine === turn) say(error.message, true);
  }
}

// title: the model and how its attention is read. A stretch that is dragged on a spectrogram is looked at alone.
function show(answer, title) {
  const drawn = (answer.maps ?? []).map(timeMap), caption = make("p", { className: "caption", dir: "auto" });
  let now = answer, from = 0;
  const saves = ["png", "svg"].map((type) => make("button", { className: "plain", title: t("Save the picture"),
    onclick: () => savePicture(now.maps.map((map) => picture(map, title)), "sound", type) }, type.toUpperCase()));
  const back = make("button", { className: "plain", hidden: true, onclick: () => frames.forEach((one) => one.clear()) }, t("Take back"));
  const part = make("button", { className: "plain", onclick: () => frames[0].begin() }, t("Listen to a part"));
  const follow = latest(async (look) => {
    const next = look ? await steered(look, answer.words.slice(0, from).map(({ word }) => `${word} `).join("")) : answer;
    if (next) { now = next; write(look ? from : Infinity); }
  });
  const frames = drawn.map(({ holder }, n) => frameOn(holder, true, (sides) => {
    const { start, end } = answer.maps[n];
    back.hidden = !sides;
    follow(sides && [sides[0], sides[2]].map((share) => (start + share * (end - start)).toFixed(2)).join("-"));
  }));
  function write(marked) {
    const { text, words } = now;
    const spans = wordSpans(words.map(({ word }) => word), (at) => drawn.forEach((one) => one.mark(words[at].start, words[at].end)));
    spans.forEach((span, at) => {
      const { start, end } = words[at], listen = () => { from = at; play(start, end); };
      span.title = `${start.toFixed(2)} to ${end.toFixed(2)} s`;
      span.classList.toggle("steered", at >= marked);
      span.onclick = listen;
      span.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); listen(); }
      });
    });
    caption.replaceChildren(...(spans.length ? spans.flatMap((span) => [span, " "]) : [text]));
    drawn.forEach((one, n) => now.maps[n] && one.fill(now.maps[n]));
  }
  if (!drawn.length) { now = { ...answer, maps: [] }; }
  write(Infinity);
  const said = t("A click plays a word. Dark: attention of a token over time, as a share of its largest.");
  $("transcript").replaceChildren(caption, drawn.length ? make("p", { className: "soft" }, `${title}. ${said} `, ...saves, part, back) : "",
    ...drawn.map(({ element }) => element));
}

// The transcript with a look at a stretch; null if it is refused.
async function steered(look, prefix) {
  try {
    return await transcribe(sent, { look, prefix });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(error.message, true);
    return null;
  }
}

function play(start, end) {
  $("player").currentTime = start;
  stopAt = end + 0.15;
  $("player").play().catch(() => {});
}

// The spectrogram of a segment, and below it a row for each token.
function timeMap({ start, end, spectrogram }) {
  const band = make("div", { className: "span" }), time = end - start;
  const image = make("img", { src: spectrogram, draggable: false, alt: t("Spectrogram from {start} to {end} seconds", { start: start.toFixed(2), end: end.toFixed(2) }) });
  const holder = make("div", {}, image), top = make("div", { className: "row" }, make("span", {}, ""), holder);
  const element = make("div", { className: "time" }, top, band);
  return {
    element,
    holder,
    fill({ tokens, weights, slotSeconds }) {
      element.querySelectorAll(".row").forEach((one) => one === top || one.remove());  // the frame keeps the focus
      band.before(...tokens.map((token, n) => row(token, weights[n], slotSeconds / time)));
    },
    mark(from, to) {
      const inside = from >= start - 0.01 && to <= end + 0.01;
      band.style.setProperty("--from", inside ? (from - start) / time : 0);
      band.style.setProperty("--size", inside ? (to - from) / time : 0);
    },
  };
}

// A token and its weights over time; share: that of a slot in the segment.
function row(token, weights, share) {
  const canvas = make("canvas", { width: weights.length, height: 1, "aria-hidden": "true" }), pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(document.body).getPropertyValue("--heat");
  weights.forEach((weight, s) => { pen.globalAlpha = weight; pen.fillRect(s, 0, 1, 1); });
  canvas.style.width = `${100 * Math.min(1, weights.length * share)}%`;
  return make("div", { className: "row" }, make("span", {}, token), make("div", {}, canvas));
}

// The same as a picture; see `headed`.
function picture({ start, end, tokens, weights, slotSeconds, spectrogram }, title) {
  const left = 20 + Math.max(...tokens.map((token) => textWidth(token, 12))), time = end - start;
  const parts = [`<image x="${left}" y="10" width="${WIDTH}" height="${BAND}" preserveAspectRatio="none" href="${spectrogram}"/>`];
  tokens.forEach((token, t) => {
    const y = BAND + 14 + ROW * t, size = WIDTH * slotSeconds / time;
    parts.push(`<text x="${left - 8}" y="${y + 12}" font-size="12" text-anchor="end" fill="#1a1c22">${escaped(token)}</text>`);
    weights[t].forEach((weight, s) => {
      const width = Math.min(size, WIDTH - s * size);
      if (weight >= 0.02 && width > 0)
        parts.push(`<rect x="${(left + s * size).toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 3}" fill="#1d4ed8" fill-opacity="${weight}"/>`);
    });
  });
  const bottom = BAND + 14 + ROW * tokens.length;
  parts.push(`<text x="${left}" y="${bottom + 14}" font-size="11" fill="#5c6270">${start.toFixed(2)} to ${end.toFixed(2)} seconds</text>`);
  const blue = (share) => `fill="#1d4ed8" fill-opacity="${share}" stroke="#d9dce3"`;
  return headed(title, { width: Math.ceil(left + WIDTH + 20), height: bottom + 26, content: parts.join("") }, ["0", "largest of the token"], blue);
}
