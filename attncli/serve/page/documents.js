// The document view: files in, translated files out, with their progress.
import { $, acceptDrops, fill, glossaryOf, make, megabytes } from "./dom.js";
import { Refusal, upload } from "./service.js";
import { senseOf } from "./models.js";
import { languageName, t } from "./texts.js";

const EXAMPLE = ["Good morning.", "The order arrives on Friday at nine.", "Thank you for your letter."];

let offer;

export function startDocuments(offered) {
  offer = offered;
  const { settings, languages } = offer;
  const listed = languages.map((one) => [one.code, languageName(one)]);
  fill($("document-source"), [...(settings.detects ? [["auto", t("Detect language")]] : []), ...listed], "auto");
  fill($("document-target"), listed, settings.language.target.code);
  $("kinds").textContent = t("{kinds} and other files of text, up to {size}", { kinds: settings.supportedFilesFormat.join(" "), size: megabytes(settings.bodyLimit) });
  $("document-address-label").hidden = !translator()?.address;
  $("document-example").onclick = () => take([new File([EXAMPLE.join("\n")], "letter.txt")]);
  $("document-file").onchange = () => take([...$("document-file").files]);
  acceptDrops($("document-drop"), take);
}

async function take(files) {
  for (const file of files) {
    if (/\.(csv|tsv|jsonl|ndjson)$/i.test(file.name)) $("columns-label").hidden = false;
    await translate(file);
  }
}

async function translate(file) {
  const bar = make("progress", { max: 1 }), state = make("span", { className: "soft", role: "status" }, t("Waiting …"));
  bar.setAttribute("aria-label", t("Progress of {name}", { name: file.name }));
  const stop = new AbortController();
  const cancel = make("button", { className: "plain", onclick: () => stop.abort() }, t("Cancel"));
  const row = make("div", { className: "row" }, make("strong", {}, file.name), state, make("span", { className: "gap" }), cancel);
  const item = make("li", {}, row, bar);
  $("documents").prepend(item);
  try {
    for await (const event of events(file, stop.signal)) {
      if (event.error) throw new Refusal(event.error);
      if (event.total !== undefined) {
        bar.value = event.total ? event.done / event.total : 1;
        state.textContent = t("{done} of {total} texts", event);
      } else finish(event, item, state, bar);
    }
  } catch (error) {
    if (!(error instanceof Refusal) && error.name !== "AbortError") throw error;
    state.textContent = error.name === "AbortError" ? t("Cancelled") : error.message;
    state.className = "bad";
    bar.remove();
    if (/--column|--field/.test(error.message)) state.textContent += t(" (write it above, then choose the file again)");
  }
  cancel.remove();
}

function finish({ translatedFileUrl, name, notes, left, languages }, item, state, bar) {
  bar.remove();
  state.textContent = notes.length ? t("Done; please read the notes") : t("Done");
  const path = new URL(translatedFileUrl).pathname;  // behind a proxy, the name of this page counts
  item.firstChild.append(make("a", { className: "button", href: path, download: name }, t("Save {name}", { name })));
  const sense = languages.length ? senseOf(translator(), languages[0], $("document-target").value) : "";
  item.append(...notes.map((note) => make("span", { className: left.includes(note) ? "note" : "note doubtful" }, note)),
    sense && make("span", { className: "note" }, sense));
}

const translator = () => offer.models.find((one) => one.default && one.task === "translate");

async function* events(file, signal) {
  const form = new FormData(), columns = $("columns").value.trim();
  form.append("file", file, file.name);
  form.append("source", $("document-source").value);
  form.append("target", $("document-target").value);
  form.append("glossary", glossaryOf($("document-glossary")));
  form.append("address", $("document-address").value);
  if (columns) form.append(/\.(csv|tsv)$/i.test(file.name) ? "column" : "field", columns);
  const response = await upload("/translate_file", form, { Accept: "text/event-stream" }, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) yield JSON.parse(part.replace(/^data: /, ""));
  }
}
