// The image view: a photo in, its caption out, with the map of each word over the image.
import { $, acceptDrops, fill, make, tell } from "./dom.js";
import { Refusal, upload } from "./service.js";
import { film } from "./film.js";
import { offerReads, readOf, showLimits } from "./models.js";
import { t } from "./texts.js";

const CAPTIONS = 4, SCENES = "scenes", GROUND = "#ebebe6";
const say = (text, bad) => tell("image-state", text, bad);
let offer, photo = null, turn = 0;

export function startImages(offered) {
  offer = offered;
  const models = offer.models.filter((model) => model.task === "caption");
  const names = models.map(({ name }) => [name, name]);
  fill($("image-model"), names, models.find((model) => model.default)?.name);
  fill($("image-rival"), [["", t("no other")], ...names], "");
  $("image-rival-label").hidden = names.length < 2;
  if (!names.length) {
    $("image-drop").hidden = true;
    $("image-state").textContent = t("No model on this machine describes images: see attn train --images.");
  }
  for (const id of ["image-model", "image-rival", "image-read"]) $(id).onchange = describe;
  for (const id of ["image-file", "image-camera"]) $(id).onchange = () => take([...$(id).files]);
  acceptDrops($("image-drop"), take);
  $("image-example").onclick = example;
  $("image-example").hidden = !models.some(({ name }) => name === SCENES);
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.some(({ type }) => type.startsWith("image/"))) { $("tab-image").click(); take(files); }
  });
  showModel();
  return (name) => { $("image-model").value = name; describe(); };
}

// A scene as those that `scenes` has learned from: two things on a grey ground.
async function example() {
  const canvas = make("canvas", { width: 256, height: 256 }), pen = canvas.getContext("2d");
  const thing = (colour, draw) => { pen.fillStyle = colour; pen.beginPath(); draw(); pen.fill(); };
  thing(GROUND, () => pen.rect(0, 0, 256, 256));
  thing("#d62728", () => pen.arc(72, 128, 44, 0, 2 * Math.PI));
  thing("#1f5ac8", () => pen.rect(150, 90, 72, 72));
  $("image-model").value = SCENES;
  take([new File([await new Promise((done) => canvas.toBlob(done))], "scene.png")]);
}

function take([file]) {
  if (!file) return;
  photo = file;
  describe();
}

async function describe() {
  showModel();
  if (!photo) return;
  const mine = ++turn, names = [$("image-model").value, $("image-rival").value].filter(Boolean);
  $("films").replaceChildren();
  if (photo.size > offer.settings.bodyLimit) { say(t("This file is too large."), true); return; }
  say(t("Looking at the photo …"));
  try {
    for (const name of new Set(names)) {
      const started = performance.now(), answer = await captionBy(name);
      if (mine !== turn) return;
      $("films").append(await film(answer, name, (look, prefix) => steered(name, look, prefix)));
      say(`${((performance.now() - started) / 1000).toFixed(2)} s`);
    }
    $("films").querySelector(".play")?.focus({ preventScroll: true });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (mine === turn) say(error.message, true);
  }
}

async function captionBy(name, steering = {}) {
  const values = new URLSearchParams({ model: name, nbest: CAPTIONS, image: true, ...steering, read_mode: readOf("image-read", modelOf(name)).mode });
  const headers = { "Content-Type": "application/octet-stream" };
  return (await upload(`/caption?${values}`, photo, headers)).json();
}

// The caption with a look at a frame of the shown picture; null if it is refused.
async function steered(name, sides, prefix) {
  const started = performance.now();
  try {
    const answer = await captionBy(name, { prefix, look: (await inPhoto(sides)).map((side) => `${(100 * side).toFixed(1)}%`).join(",") });
    say(`${((performance.now() - started) / 1000).toFixed(2)} s`);
    return answer;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(error.message, true);
    return null;
  }
}

// Shares of the picture that is shown as shares of the photo: a square one of a photo that is none is its centre.
async function inPhoto(sides) {
  const { width, height } = $("films").querySelector("canvas"), size = await createImageBitmap(photo).catch(() => null);
  if (!size || width !== height || size.width === size.height) return sides;
  const side = Math.min(size.width, size.height);
  return sides.map((share, n) => { const length = n % 2 ? size.height : size.width; return ((length - side) / 2 + share * side) / length; });
}

function modelOf(name) {
  return offer.models.find((model) => model.name === name);
}

function showModel() {
  const model = modelOf($("image-model").value);
  offerReads("image-read", [model, modelOf($("image-rival").value)]);
  $("image-licence").hidden = model?.use !== "research";
  $("image-licence").textContent = t("{name}: for research, not for commercial use (licence: {licence}). BLIP may be used for anything (BSD-3): attn models add Salesforce/blip-image-captioning-base", model);
  showLimits("image-limits", model);
}
