// The text view: translation as one types, swap, words that light up, alternatives, comparison.
import { $, fill, glossaryOf, later, make, tell } from "./dom.js";
import { post, Refusal } from "./service.js";
import { offerReads, readOf, senseOf, showLimits } from "./models.js";
import { crossWeight, drawHeads, drawMap, forgetMaps, offerLayers, startAttention } from "./attention.js";
import { light, places, showWords } from "./words.js";
import { looked, lookAt, startSteering, steerable, undo } from "./steer.js";
import { language as own, languageName, t } from "./texts.js";

const WAIT = 250;  // milliseconds without a key before a translation begins
const SLOW = 1500;  // milliseconds after which the page says why it takes long
const TOGETHER = 8;  // lines of one request, so that a long text comes part by part
const ALTERNATIVES = 3;
const ALIGNED_LINES = 30;  // at most
const REMEMBERED = 2000;  // lines
const SURE = 90, LETTERS = 10;  // percent and letters from which on a recognised language is not doubted
const LONG = 200;  // characters of a text from which on the page names a better model
const LINE_NAME = 24;  // letters of a line in its name
const EXAMPLE = "The old dog sleeps in front of the red house.";

const known = new Map();  // what was translated: key of a line to its answer
let advised = false, offer, columns, request = null, current = 0, chosenLine = 0;

export function startText(offered, link) {
  offer = offered;
  columns = [column("", "model", "output", "map"), column("rival-", "rival", "rival-output", "rival-map")];
  fillLanguages(link);
  fillModels(link.model);
  $("input").value = link.q || "";
  for (const name of ["source", "target"]) $(name).onchange = () => { fillModels(); changed(); };
  for (const name of ["model", "rival", "address"]) $(name).onchange = changed;
  startAttention(drawMaps);
  startSteering();
  $("undo").onclick = () => { columns[0].lines.filter((line) => line?.steered).slice(-1).forEach(undo); changed(); };
  $("look").onclick = lookAtCursor;
  $("input").onclick = (event) => { if (event.altKey) lookAtCursor(); };
  $("read").onchange = changed;
  $("line").onchange = () => { chosenLine = Number($("line").value); drawMaps(); };
  $("input").oninput = () => { measure(); slowly(); };
  $("glossary").oninput = $("memory").oninput = () => slowly();
  $("swap").onclick = swap;
  $("clear").onclick = () => { $("input").value = ""; changed(); $("input").focus(); };
  $("example").onclick = () => { $("input").value = example(); changed(); $("input").focus(); };
  $("copy").onclick = () => copy(columns[0].text(), columns[0], "Copied");
  $("rival-copy").onclick = () => copy(columns[1].text(), columns[1], "Copied");
  $("link").onclick = () => copy(location.href, columns[0], "Link copied");
  $("back").onclick = () => {
    $("back").setAttribute("aria-pressed", !wantsBack());
    changed();
  };
  document.addEventListener("keydown", (event) => {
    if (event.altKey && event.code === "KeyS" && !$("text").hidden) { event.preventDefault(); swap(); }
  });
  changed();
  warm();
  return (name) => useModel(name);
}

// Let the models be loaded while the person types.
async function warm() {
  const direction = offer.models.find((model) => model.default && model.directions.length)?.directions[0];
  if (!direction) return;
  if (offer.settings.detects) await post("/detect", { q: "a" }).catch(() => {});
  const pair = { q: "a", translation: "a", source: direction.source, target: direction.target };
  await post("/align", pair).catch(() => {});
}

const modelOf = (name) => offer.models.find((model) => model.name === name);
const slowly = later(WAIT, () => changed());

// The example in the chosen source language, or in one that is not the target language.
function example() {
  const codes = offer.languages.map(({ code }) => code), target = $("target").value;
  const code = $("source").value !== "auto" ? $("source").value : [own, ...codes].find((one) => codes.includes(one) && one !== target);
  return t(EXAMPLE, {}, code);
}

// One model and its output.
function column(prefix, select, output, map) {
  return {
    prefix, lines: [], spans: [], mark: () => {},
    get model() { return $(select).value; },
    get output() { return $(output); },
    get map() { return $(map); },
    get read() { return readOf("read", modelOf(this.model)); },
    get address() { return modelOf(this.model)?.address ? $("address").value : ""; },
    get isUsed() { return select === "model" || Boolean($(select).value); },
    text() { return this.lines.map((line) => line?.text ?? "").join("\n"); },
  };
}

function fillLanguages(link) {
  const { languages, settings } = offer;
  const listed = languages.map((one) => [one.code, languageName(one)]);
  const first = settings.detects && listed.length > 1 ? [["auto", t("Detect language")]] : [];
  fill($("source"), [...first, ...listed], link.source || (first.length ? "auto" : settings.language.source.code));
  fill($("target"), listed, link.target || settings.language.target.code);
}

// The models that translate the chosen direction.
function fillModels(wanted) {
  const source = $("source").value, target = $("target").value;
  const fits = offer.models.filter((model) => model.directions.some((one) =>
    one.target === target && (source === "auto" || one.source === source)));
  const options = fits.map(({ name }) => [name, name]);
  const first = fits.find((model) => model.default)?.name;
  for (const [id, more, old] of [["model", [], wanted || $("model").value || first], ["rival", [["", t("no other")]], $("rival").value]])
    fill($(id), [...more, ...options], old);
  $("rival-label").hidden = fits.length < 2;
}

function useModel(name) {
  const model = modelOf(name);
  const [direction] = model.directions;
  if (!direction) return;
  for (const side of ["source", "target"]) {
    const code = direction[side];
    if (![...$(side).options].some((option) => option.value === code)) $(side).append(new Option(code, code));
    const fits = model.directions.some((one) => one[side] === $(side).value);
    if (!fits) $(side).value = code;
  }
  fillModels(name);
  changed();
  $("input").focus();
}

function swap() {
  const source = $("source").value === "auto" ? columns[0].detected || "" : $("source").value;
  const target = $("target").value, text = columns[0].text();
  const codes = [...$("target").options].map((option) => option.value);
  const next = source !== target && codes.includes(source) ? source : codes.find((code) => code !== target);
  if (next) $("target").value = next;
  if ([...$("source").options].some((option) => option.value === target)) $("source").value = target;
  if (text.trim()) $("input").value = text;
  fillModels();
  changed();
}

// The request of a line, which steering changes; and what draws the line again, or tells why it cannot.
function requestOf(one, n) {
  return { q: $("input").value.split("\n")[n], source: one.lines[n].language, target: $("target").value, model: one.model,
    notes: true, glossary: glossaryOf($("glossary")), memory: glossaryOf($("memory")), read_mode: one.read.mode, address: one.address };
}

const redrawing = (one, n) => async (work, j) => {
  const lines = $("input").value.split("\n"), started = performance.now();
  try {
    if (!work && j === undefined) { drawMaps(); return null; }  // the words stay: a list may be open
    if (!work) { draw(one, lines); one.spans[n]?.[j]?.focus(); return null; }
    const answer = await work;
    state(one, `${((performance.now() - started) / 1000).toFixed(2)} s`);
    return answer;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    state(one, error.message, true);
    return null;
  }
};

// For the chosen word of the translation, look only at the source word at the cursor.
function lookAtCursor() {
  const before = $("input").value.slice(0, $("input").selectionStart).split("\n"), n = before.length - 1;
  const [one] = columns, line = one.lines[n];
  if (!line?.text) return;
  const word = before[n].split(/\s+/).filter(Boolean).length || 1;
  lookAt(line, /\s$/.test(before[n]) ? word + 1 : word, line.cursor ?? 0, requestOf(one, n), redrawing(one, n));
}

// Translate what is new, and show the rest at once.
async function changed() {
  const turn = ++current;
  request?.abort();
  request = new AbortController();
  measure();
  writeLink();
  const lines = $("input").value.split("\n");
  $("notes").hidden = $("instead").hidden = true;
  chosenLine = Math.min(chosenLine, lines.length - 1);
  $("rival-pane").hidden = !columns[1].isUsed;
  $("who").hidden = !columns[1].isUsed;
  offerReads("read", columns.map((one) => modelOf(one.model)));
  $("address-label").hidden = !columns.some((one) => modelOf(one.model)?.address);
  const size = $("input").value.length, most = offer.settings.charLimit;
  if (size > most) { refuse(t("This text has {size} characters: at most {most}.", { size: size.toLocaleString(), most: most.toLocaleString() })); return; }
  await Promise.all(columns.map((one) => translateColumn(one, lines, turn)));
}

function refuse(why) {
  for (const one of columns.filter(({ isUsed }) => isUsed)) {
    one.lines = [];
    draw(one, []);
    state(one, why, true);
  }
}

async function translateColumn(one, lines, turn) {
  if (!one.isUsed) { one.lines = []; one.output.replaceChildren(); one.map.replaceChildren(); return; }
  $(`${one.prefix}who`).textContent = one.model;
  one.lines = lines.map((line) => line.trim() ? known.get(keyOf(one, line)) : { text: "" });
  draw(one, lines);
  if (!one.prefix) showLimits("limits", modelOf(one.model));
  const missing = [...lines.keys()].filter((n) => !one.lines[n]);
  try {
    if (missing.length) state(one, t("Translating …"));
    const slow = setTimeout(() => turn === current && state(one, t("Translating … The first time, the model is loaded.")), SLOW);
    const started = performance.now();
    for (let at = 0; at < missing.length; at += TOGETHER)
      await translateLines(one, lines, missing.slice(at, at + TOGETHER), turn);
    clearTimeout(slow);
    if (turn !== current) return;
    state(one, described(one, missing.length ? performance.now() - started : 0));
    if (!one.prefix) { $("said").textContent = one.text(); advise(one); await suggest(one, turn); await translateBack(one, lines, turn); }
    await alignLines(one, lines, turn);
  } catch (error) {
    if (error.name === "AbortError" || turn !== current) return;
    if (!(error instanceof Refusal)) throw error;
    state(one, error.message, true);
  }
}

// Beside the first long text, say once how often the model changes the sense in this direction, as its card states it.
function advise({ model, lines }) {
  const isLong = $("input").value.length > LONG, to = $("target").value;
  const from = lines.find(({ language }) => language && language !== to)?.language;
  if (isLong && !advised && from && modelOf(model).default) {
    advised = true;
    $("advice").textContent = senseOf(modelOf(model), from, to);
    $("advice").hidden = !$("advice").textContent;
  }
  if (!isLong) $("advice").hidden = true;
}

// Offer another source or target language if the text is probably not in the chosen source language.
async function suggest(one, turn) {
  const line = one.lines.find((each) => each?.language), source = $("source").value, target = $("target").value;
  const codes = [...$("source").options].map(({ value }) => value);
  let found = line?.language;
  if (line && source !== "auto" && codes[0] === "auto" && letters() >= LETTERS) {
    const [best] = await post("/detect", { q: $("input").value }, request.signal);
    found = best && best.confidence >= SURE ? best.language : source;
    if (turn !== current) return;
  }
  const other = source !== "auto" && source !== target ? source : ["en", ...codes].find((code) => code !== "auto" && code !== target && codes.includes(code));
  const isEnglish = source === "auto" && found && found !== "en" && target !== "en" && codes.includes("en");
  if (found === target) offerInstead("Into {language} instead?", found, other);
  else if (isEnglish && isDoubtful(line)) offerInstead("{language} instead?", "en", target, "en");
  else if (source !== "auto" && found && found !== source && codes.includes(found)) offerInstead("{language} instead?", found, target, found);
}

function offerInstead(text, source, target, named = target) {
  $("instead").textContent = t(text, { language: nameOf(named) });
  $("instead").hidden = false;
  $("instead").onclick = () => {
    if ($("source").value !== "auto" || named === source) $("source").value = source;
    $("target").value = target;
    fillModels();
    changed();
  };
}

const wantsBack = () => $("back").getAttribute("aria-pressed") === "true";

// The translation, translated to the language of its source; what the source does not have is dotted.
async function translateBack(one, lines, turn) {
  const from = one.lines.find((line) => line?.language)?.language, q = one.lines.map((line) => line?.text ?? "");
  $("back-pane").hidden = !wantsBack() || !from || from === $("target").value;
  $("back-output").replaceChildren();
  if ($("back-pane").hidden) return;
  const answer = await post("/translate", { q, source: $("target").value, target: from, glossary: "" }, request.signal);
  if (turn !== current) return;
  $("back-output").lang = from;
  $("back-output").replaceChildren(...answer.translatedText.map((text, n) => {
    const words = new Set(bare(lines[n]).split(" "));
    return make("p", { dir: "auto" }, ...text.split(/(\s+)/).map((part) =>
      make("span", { className: bare(part) && !words.has(bare(part)) ? "word other" : "" }, part)));
  }));
}

const bare = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}\s]/gu, "").replace(/\s+/g, " ").trim();

async function translateLines(one, lines, numbers, turn) {
  const answer = await post("/translate", {
    q: numbers.map((n) => lines[n]), source: $("source").value, target: $("target").value,
    model: one.model, alternatives: ALTERNATIVES, notes: true, glossary: glossaryOf($("glossary")), memory: glossaryOf($("memory")),
    read_mode: one.read.mode, address: one.address,
  }, request.signal);
  if (turn !== current) return;
  numbers.forEach((n, at) => {
    const language = answer.detectedLanguage?.[at] ?? { language: $("source").value, confidence: 100 };
    one.lines[n] = {
      text: answer.translatedText[at], others: answer.alternatives[at], language: language.language,
      confidence: language.confidence, notes: answer.notes?.[at] ?? [],
      unsure: new Set(answer.doubtful?.[at]?.map(bare)),
    };
    remember(keyOf(one, lines[n]), one.lines[n]);
  });
  draw(one, lines);
}

async function alignLines(one, lines, turn) {
  const target = $("target").value;
  for (const [n, line] of one.lines.slice(0, ALIGNED_LINES).entries()) {
    if (!line?.text.trim() || line.alignment || line.steered || line.language === target) continue;
    line.alignment = await post("/align", {
      q: lines[n], translation: line.text, source: line.language, target, model: one.model, heads: true, read_mode: one.read.mode,
    }, request.signal);
    if (turn !== current) return;
    if (n === chosenLine) drawMaps();
  }
  drawMaps();
}

function draw(one, lines) {
  one.output.lang = $("target").value;
  one.spans = [];
  one.output.replaceChildren(...lines.map((_, n) => {
    const holder = make("p", { dir: "auto" }), line = one.lines[n];
    holder.classList.toggle("doubtful", Boolean(line?.notes?.length));
    if (line) one.spans[n] = showWords(holder, line.text, (j) => point(one, n, j));
    one.spans[n]?.forEach((span) => span.classList.toggle("unsure", Boolean(line.unsure?.has(bare(span.textContent)))));
    if (line?.language && !one.prefix) steerable(one.spans[n], line, requestOf(one, n), redrawing(one, n));
    else holder.append(make("span", { className: "pending" }, "…"));
    return holder;
  }));
  if (columns[1].isUsed) markDifferences();
  if (!one.prefix) {
    showAlternatives(one);
    $("undo").hidden = !one.lines.some((line) => line?.steered);
    $("look").hidden = !one.lines.some((line) => line?.language);
    lightInput(Math.max(0, one.lines.findIndex((line) => line?.steered)), []);
  }
  showNotes();
  drawMaps();
}

// A word of the output: light up its source words in the input and, faintly, in the map.
function point(one, n, j, crossing = -1) {
  const line = one.lines[n], alignment = line?.alignment;
  if (j >= 0 && n !== chosenLine) { chosenLine = n; drawMaps(); }
  one.spans[n]?.forEach((span, at) => span.classList.toggle("at", at === j));
  one.mark("target", j, crossing);
  if (!alignment || j < 0) { lightInput(n, []); return; }
  const weight = crossWeight(alignment);
  lightInput(n, alignment.source.map((word, i) => [word, weight(i, j)]));
}

// The layer behind the input has the same text; marks in it shine through.
function lightInput(n, weights) {
  const text = $("input").value, parts = [], only = looked(columns[0].lines[n]);
  const start = text.split("\n").slice(0, n).reduce((sum, line) => sum + line.length + 1, 0);
  const line = text.split("\n")[n] ?? "";
  if (!weights.length && only.size) weights = line.trim().split(/\s+/).map((word) => [word, 0]);
  if (weights.length) {
    let at = 0;
    places(line, weights.map(([word]) => word)).forEach(([from, to], i) => {
      const mark = make("mark", {}, text.slice(start + from, start + to));
      light(mark, weights[i][1]);
      mark.classList.toggle("looked", only.has(i));
      parts.push(text.slice(at, start + from), mark);
      at = start + to;
    });
    parts.push(text.slice(at));
  } else parts.push(text);
  $("lights").dir = getComputedStyle($("input")).direction;
  $("lights").replaceChildren(...parts, "\u200b");
}

function drawMaps() {
  const used = columns.filter((one) => one.isUsed && one.lines[chosenLine]?.alignment?.weights);
  $("attention").hidden = !used.length;
  forgetMaps();
  if (!used.length) return;
  const first = used[0].lines[chosenLine].alignment;
  offerLayers(first);
  drawHeads(first, drawMaps);
  chooseLine();
  for (const one of columns) {
    const alignment = used.includes(one) && one.lines[chosenLine].alignment;
    if (!alignment) { one.map.replaceChildren(); one.mark = () => {}; continue; }
    const n = chosenLine;
    one.mark = drawMap(one.map, alignment, one.model, one.read.name, (j, i) => point(one, n, j, i));
  }
}

function chooseLine() {
  const numbers = columns[0].lines.flatMap((line, n) => line?.alignment?.weights ? [n] : []);
  const named = (n) => `${n + 1}: ${columns[0].lines[n].text.slice(0, LINE_NAME)}`;
  fill($("line"), numbers.map((n) => [`${n}`, named(n)]), `${chosenLine}`);
  $("line-label").hidden = numbers.length < 2;
}

function markDifferences() {
  const bags = columns.map((one) => new Set(one.text().toLowerCase().split(/\s+/)));
  columns.forEach((one, n) => one.spans.flat().forEach((span) => {
    const missing = bags[1 - n].size > 1 && !bags[1 - n].has(span.textContent.toLowerCase());
    span.classList.toggle("other", missing);
  }));
}

function showAlternatives(one) {
  const filled = one.lines.flatMap((line, n) => line?.others?.length ? [n] : []);
  $("others").hidden = filled.length !== 1;
  if (filled.length !== 1) return;
  const line = one.lines[filled[0]];
  $("others").querySelector("ol").replaceChildren(...line.others.map((text, n) => {
    const button = make("button", { lang: $("target").value, dir: "auto", title: t("Use this one") }, text);
    button.onclick = () => {
      line.others[n] = line.text;
      line.text = text;
      delete line.alignment;
      changed();
    };
    return make("li", {}, button);
  }));
}

// What is doubtful about the outputs: its line if there are several, its model if there are two.
function showNotes() {
  const models = columns.filter((one) => one.isUsed);
  const notes = models.flatMap((one) => one.lines.flatMap((line, n) => {
    const name = [models.length > 1 && one.model, one.lines.length > 1 && t("line {n}", { n: n + 1 })].filter(Boolean).join(", ");
    return (line?.notes ?? []).map((note) => make("p", {}, name && make("strong", {}, `${name}: `), note));
  }));
  $("notes").replaceChildren(...notes);
  $("notes").hidden = !notes.length;
}

function described(one, milliseconds) {
  const line = one.lines.find((each) => each?.language);
  if (!line) return "";
  if (!one.prefix) one.detected = line.language;
  const values = { language: nameOf(line.language), percent: Math.round(line.confidence) };
  const found = $("source").value === "auto" ? t("{language} recognised ({percent} %)", values) : "";
  const time = milliseconds ? `${(milliseconds / 1000).toFixed(2)} s` : "";
  return [found, time].filter(Boolean).join(" · ");
}

const nameOf = (code) => languageName(offer.languages.find((each) => each.code === code) ?? { code, name: code });
const letters = () => $("input").value.match(/\p{L}/gu)?.length ?? 0;

// A language that was recognised with little certainty, or in few letters.
const isDoubtful = (line) => line.confidence < SURE || letters() < LETTERS;

const state = (one, text, bad) => tell(`${one.prefix}state`, text, bad);

function measure() {
  const { value } = $("input"), most = offer.settings.charLimit;
  $("size").textContent = value.length > most / 2 ? t("{size} of {most}", { size: value.length.toLocaleString(), most: most.toLocaleString() }) : "";
  $("clear").hidden = !value;
  $("example").hidden = Boolean(value);
  lightInput(0, []);
}

function writeLink() {
  const q = $("input").value;
  const values = { source: $("source").value, target: $("target").value, ...($("model").value && { model: $("model").value }), q };
  history.replaceState(null, "", q && q.length < 4000 ? `#${new URLSearchParams(values)}` : location.pathname);
}

async function copy(text, one, said) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // without permission, or not a secure address
    const area = document.body.appendChild(make("textarea", { value: text, className: "unseen" }));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  state(one, t(said));
}

function keyOf(one, line) {
  return JSON.stringify([one.model, one.read.mode, one.address, $("source").value, $("target").value, glossaryOf($("glossary")), glossaryOf($("memory")), line]);
}

function remember(name, answer) {
  known.set(name, answer);
  if (known.size > REMEMBERED) known.delete(known.keys().next().value);
}
