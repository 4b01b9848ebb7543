// The models of this machine with their cards.
import { $, make, megabytes } from "./dom.js";
import { markdown } from "./markdown.js";

const TASKS = { translate: "translates text", caption: "describes photos", classify: "labels text", transcribe: "transcribes speech" };

export function showModels(models, use) {
  $("cards").replaceChildren(...models.map((model) => card(model, use)));
}

// What a model cannot do, from its card: a title ("" if the card says nothing) and the text.
export function limitsOf(model) {
  const found = /^##+ +(.*(?:cannot|limit).*)\n([^]*?)(?=\n#|$(?![^]))/im.exec(model?.card ?? "");
  const title = found ? `What ${model.name} cannot do` : "";
  return { title, content: found ? markdown(found[2]) : "" };
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
