// The models of this machine with their cards.
import { $, make, megabytes, refill } from "./dom.js";
import { markdown } from "./markdown.js";
import { t } from "./texts.js";

const TASKS = { translate: "translates text", caption: "describes photos", classify: "labels text", transcribe: "transcribes speech" };
const SMALL = 3e7;  // bytes of a model below which it is small
const READS = { argmax: "argmax", sample: "sample", expected: "expectation" };

export function showModels(models, use) {
  $("cards").replaceChildren(...models.map((model) => card(model, use)));
}

// Show what a model cannot do, from its card; hide the part if the card says nothing.
export function showLimits(id, model) {
  const found = /^##+ +(.*(?:cannot|limit).*)\n([^]*?)(?=\n#|$(?![^]))/im.exec(model?.card ?? "");
  $(id).hidden = !found;
  $(id).querySelector("summary").textContent = found ? t("What {model} cannot do", { model: model.name }) : "";
  $(id).querySelector("div").replaceChildren(found ? markdown(found[2]) : "");
}

// How often a model changes the sense of a line in a direction, and a better one; "" if its facts do not say it.
export function senseOf(model, from, to) {
  const lines = model?.sense[`${from}-${to}`], text = lines
    ? "{model} changes the sense of about {lines} of 100 lines of letters in this direction. A larger model:"
    : "{model} is small, and changes the sense of some lines without a word. A larger model:";
  return lines || model?.bytes < SMALL ? `${t(text, { model: model.name, lines })} attn models add Helsinki-NLP/opus-mt-${from}-${to}` : "";
}

// Offer how hard attention is read; hide the choice where no model has hard attention.
export function offerReads(id, models) {
  const modes = models.find((model) => model?.read_modes.length)?.read_modes ?? [];
  refill($(id), modes.map((mode, n) => [n ? mode : "", t(READS[mode])]));  // "": the default of the service
  $(id).parentElement.hidden = !modes.length;
}

// The chosen read mode as the service takes it, and as a picture names it; empty for other models.
export function readOf(id, model) {
  const modes = model?.read_modes ?? [], mode = modes.length ? $(id).value : "";
  return { mode, name: modes.length ? `hard ${mode || modes[0]} attention` : "" };
}

function senses({ sense }) {
  const found = Object.entries(sense).map(([way, lines]) => `${way} ${lines}`).join(", ");
  return found && t("lines of 100 whose sense changes: {found}", { found });
}

function card(model, use) {
  const facts = {
    Languages: model.languages.join(", "), Score: model.score, Sense: senses(model), Licence: model.licence,
    Family: model.family, Size: `${megabytes(model.bytes)} (${model.precision})`,
  };
  const rows = Object.entries(facts).filter(([, value]) => value)
    .flatMap(([name, value]) => [make("dt", {}, t(name)), make("dd", {}, value)]);
  const usable = model.directions.length || ["caption", "classify", "transcribe"].includes(model.task);
  const button = usable ? make("button", { className: "button", onclick: () => use(model) }, t("Use it")) : null;
  return make("article", { className: "card" },
    make("h2", {}, model.name, make("span", { className: "badge" }, t(TASKS[model.task] ?? model.task)),
      model.default ? make("span", { className: "badge" }, t("default")) : null),
    make("p", {}, model.summary), make("dl", {}, ...rows), button,
    model.card ? make("details", {}, make("summary", {}, t("Card")), markdown(model.card)) : null);
}
