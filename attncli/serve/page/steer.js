// Steering a translation: another word in the place of one, or a source word that alone may be attended to for a word.
// The rest is written again by the service; each step can be taken back.
import { $, make, roving } from "./dom.js";
import { post } from "./service.js";
import { t } from "./texts.js";

const MAX_ALTERNATIVES = 8;  // other words that are listed
const words = (text) => [...text.matchAll(/\S+/g)];

export function startSteering() {
  $("choices").onkeydown = (event) => { if (event.key === "Escape") close(true); };
  document.addEventListener("pointerdown", (event) => { if (!$("choices").contains(event.target)) close(false); });
}

let opener = null;

function close(back) {
  $("choices").hidden = true;
  opener?.setAttribute("aria-expanded", false);
  if (back) opener?.focus();
  opener = null;
}

// Let the words of a drawn line be chosen. ask: the values of its request; done(work, j): wait for a request, or draw again, from word j.
export function steerable(spans, line, ask, done) {
  spans.forEach((span, j) => {
    span.setAttribute("role", "button");
    span.setAttribute("aria-haspopup", "dialog");
    span.classList.toggle("steered", Boolean(line.steered?.marks.has(j)));
    span.onclick = () => open(span, line, j, ask, done);
    span.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      span.click();
    });
  });
}

// Words of the source that alone may be attended to, for some words of the output.
export const looked = (line) => new Set((line?.steered?.looks ?? []).map(({ word }) => word - 1));

async function open(span, line, j, ask, done) {
  close(false);
  opener = span;
  line.cursor = j;
  span.setAttribute("aria-expanded", true);
  const box = $("choices"), list = make("div", { role: "listbox", "aria-label": t("Other words") });
  const sources = words(ask.q).map(([word], i) => make("button", { className: "plain", title: t("Look here"),
    onclick: () => { close(false); lookAt(line, i + 1, j, ask, done); } }, word));
  box.replaceChildren(make("p", { className: "soft" }, t("Other words")), list, make("p", { className: "soft" }, t("For this word, look only at")),
    make("div", { className: "looks", role: "group", "aria-label": t("For this word, look only at") }, ...sources));
  box.style.top = `${span.offsetTop + span.offsetHeight + 4}px`;
  box.hidden = false;
  list.append(make("span", { className: "soft" }, "…"));
  const { text } = line, prefix = text.slice(0, words(text)[j].index);
  try {
    const { alternatives } = await post("/alternatives", { ...ask, prefix, look: asked((line.steered?.looks ?? []).filter(({ at }) => at <= j)), n: MAX_ALTERNATIVES });
    if (opener === span) fillList(list, alternatives, (word) => { close(false); choose(line, word, j, ask, done); });
  } catch (error) {
    if (opener === span) list.replaceChildren(make("span", { className: "bad" }, error.message));
  }
}

function fillList(list, found, choose) {
  const options = found.map(({ word, probability }, n) => {
    const option = make("div", { role: "option", tabIndex: n ? -1 : 0, "aria-selected": false }, make("bdi", {}, word),
      make("span", { className: "soft" }, ` ${(100 * probability).toFixed(probability < 0.1 ? 1 : 0)} %`));
    option.onclick = () => choose(word);
    option.onkeydown = (event) => {
      const next = roving(options, event.key, n);
      if (event.key === "Enter" || event.key === " ") choose(word);
      else if (next >= 0) options[next].focus();
      else return;
      event.preventDefault();
    };
    return option;
  });
  list.replaceChildren(...(options.length ? options : [make("span", { className: "soft" }, t("none"))]));
  options[0]?.focus({ preventScroll: true });
}

const asked = (looks) => looks.map(({ name, at }) => `${name}@${at}`);

// A source word without its punctuation, or its number if the text has it several times.
function nameOf(number, text) {
  const bare = (word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "").toLowerCase();
  const every = words(text).map(([word]) => bare(word)), name = every[number - 1];
  return /^[\p{L}]+$/u.test(name ?? "") && every.filter((one) => one === name).length === 1 ? name : number;
}

function choose(line, word, j, ask, done) {
  const prefix = `${line.text.slice(0, words(line.text)[j].index)}${word} `;
  return again(line, prefix, (line.steered?.looks ?? []).filter(({ at }) => at <= j), j, ask, done);
}

// Let output word j attend to one source word alone; the rest follows.
export function lookAt(line, word, j, ask, done) {
  const kept = (line.steered?.looks ?? []).filter(({ at }) => at <= j), start = words(line.text)[j]?.index ?? 0;
  return again(line, line.text.slice(0, start), [...kept, { word, at: j + 1, name: nameOf(word, ask.q) }], j, ask, done);
}

async function again(line, prefix, looks, j, ask, done) {
  const { text, others, notes, alignment, steered } = line, values = { ...ask, prefix, look: asked(looks) };
  const answer = await done(post("/translate", values));
  if (!answer) return;
  const marks = new Set([...steered?.marks ?? []].filter((one) => one < j).concat(j));
  Object.assign(line, { text: answer.translatedText, others: [], notes: answer.notes ?? [], alignment: undefined,
    steered: { looks, marks, before: { text, others, notes, alignment, steered } } });
  await done(null, j);
  const full = await done(post("/translate", { ...values, alignments: true, heads: true }));
  if (full && full.translatedText === line.text) line.alignment = full.alignments[0];
  await done(null);
}

// Take the last step back.
export function undo(line) {
  Object.assign(line, line.steered.before);
}
