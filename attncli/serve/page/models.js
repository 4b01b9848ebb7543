// The models of this machine with their cards.
import { $, make, megabytes, refill } from "./dom.js";
import { markdown } from "./markdown.js";

const TASKS = { translate: "translates text", caption: "describes photos", classify: "labels text", transcribe: "transcribes speech" };
const READS = { argmax: "argmax", sample: "sample", expected: "expectation" };

export function showModels(models, use) {
  $("cards").replaceChildren(...models.map((model) => card(model, use)));
}

// Show what a model cannot do, from its card; hide the part if the card says nothing.
export function showLimits(id, model) {
  const found = /^##+ +(.*(?:cannot|limit).*)\n([^]*?)(?=\n#|$(?![^]))/im.exec(model?.card ?? "");
  $(id).hidden = !found;
  $(id).querySelector("summary").textContent = found ? `What ${model.name} cannot do` : "";
  $(id).querySelector("div").replaceChildren(found ? markdown(found[2]) : "");
}

// Offer how hard attention is read; hide the choice where no model has hard attention.
export function offerReads(id, models) {
  const modes = models.find((model) => model?.read_modes.length)?.read_modes ?? [];
  refill($(id), modes.map((mode, n) => [n ? mode : "", READS[mode]]));  // "": the default of the service
  $(id).parentElement.hidden = !modes.length;
}

// The chosen read mode as the service takes it, and as a picture names it; empty for other models.
export function readOf(id, model) {
  const modes = model?.read_modes ?? [], mode = modes.length ? $(id).value : "";
  return { mode, name: modes.length ? `hard ${mode || modes[0]} attention` : "" };
}

function card(model, use) {
  const facts = {
    Languages: model.languages.join(", "), Score: model.score, Licence: model.licence,
    Family: model.family, Size: `${megabytes(model.bytes)} (${model.precision})`,
  };
  const rows = Object.entries(facts).filter(([, value]) => value)
    .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  const usable = model.directions.length || ["caption", "classify", "transcribe"].includes(model.task);
  const button = usable ? make("button", { className: "button", onclick: () => use(model) }, "Use it") : null;
  return make("article", { className: "card" },
    make("h2", {}, model.name, make("span", { className: "badge" }, TASKS[model.task] ?? model.task),
      model.default ? make("span", { className: "badge" }, "default") : null),
    make("p", {}, model.summary), make("dl", {}, ...rows), button,
    model.card ? make("details", {}, make("summary", {}, "Card"), markdown(model.card)) : null);
}
