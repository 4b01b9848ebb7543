// The documentation of the protocol, from openapi.json.
import { $, make } from "./dom.js";

const description = await (await fetch("/openapi.json")).json();

for (const [path, methods] of Object.entries(description.paths)) {
  for (const [method, about] of Object.entries(methods)) $("endpoints").append(endpoint(path, method, about));
}

function endpoint(path, method, about) {
  const body = about.requestBody?.content ?? {};
  const fields = meant((body["application/json"] ?? body["multipart/form-data"])?.schema)?.properties ?? {};
  const given = [...(about.parameters ?? []).map(({ name, description: text }) => [name, text]),
    ...Object.entries(fields).map(([name, field]) => [name, meant(field).description])];
  const rows = given.map(([name, text]) => make("tr", {}, make("td", {}, make("code", {}, name)), make("td", {}, text)));
  const examples = [about["x-curl"]?.replaceAll("URL", location.origin), about["x-answer"]];
  return make("article", {},
    make("h3", {}, make("span", { className: "method" }, method.toUpperCase()), ` ${path}`),
    make("p", {}, about.summary),
    rows.length ? make("div", { className: "markdown table", tabIndex: 0 }, make("table", {}, make("tbody", {}, ...rows))) : null,
    ...examples.filter(Boolean).map((text) => make("pre", { tabIndex: 0 }, make("code", {}, text))));
}

// A part of the description, or the one that it refers to.
function meant(part) {
  return part?.$ref ? part.$ref.split("/").slice(1).reduce((found, name) => found[name], description) : part;
}
