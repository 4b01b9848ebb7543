// The label view: a text in, its most probable labels out, and the words that decided.
import { $, fill, later, make, tell } from "./dom.js";
import { post, Refusal } from "./service.js";
import { offerReads, readOf, showLimits } from "./models.js";
import { light } from "./words.js";
import { t } from "./texts.js";

const WAIT = 250, LABELS = 8;  // milliseconds, labels that are listed
let offer, turn = 0;

export function startLabels(offered) {
  offer = offered;
  const models = offer.models.filter((model) => model.task === "classify");
  fill($("label-model"), models.map(({ name }) => [name, name]), models.find((model) => model.default)?.name);
  $("tab-label").hidden = !models.length;
  $("label-model").onchange = $("label-read").onchange = classify;
  $("label-example").onclick = () => { $("label-input").value = t("Where is the next station?"); classify(); };
  $("label-input").oninput = later(WAIT, classify);
  return (name) => { $("label-model").value = name; classify(); };
}

async function classify() {
  const mine = ++turn, text = $("label-input").value, name = $("label-model").value;
  const model = offer.models.find((one) => one.name === name), say = (said, bad) => tell("label-state", said, bad);
  offerReads("label-read", [model]);
  showLimits("label-limits", model);
  $("label-words").replaceChildren();
  $("label-example").hidden = Boolean(text);
  if (!text.trim()) { $("labels").replaceChildren(); say(""); return; }
  try {
    const started = performance.now();
    const read = readOf("label-read", model);
    const answer = await post("/classify", { q: text, model: name, nbest: LABELS, read_mode: read.mode });
    if (mine !== turn) return;
    show(answer);
    say([`${((performance.now() - started) / 1000).toFixed(2)} s`, read.name].filter(Boolean).join(" · "));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (mine === turn) { $("labels").replaceChildren(); say(error.message, true); }
  }
}

function show({ labels, words = [] }) {
  $("labels").replaceChildren(...labels.map(({ label, probability }) => {
    const percent = `${(100 * probability).toFixed(1)} %`;
    const bar = make("meter", { min: 0, max: 1, value: probability, "aria-label": `${label}: ${percent}` });
    return make("li", {}, make("strong", {}, label), bar, make("span", { className: "soft" }, percent));
  }));
  const most = Math.max(...words.map(({ weight }) => weight), 1e-9);
  $("label-words").replaceChildren(...words.flatMap(({ word, weight }) => {
    const span = make("span", { className: "word", title: weight.toFixed(3) }, word);
    light(span, weight / most);
    return [span, " "];
  }));
}
