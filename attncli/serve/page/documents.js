// The document view: files in, translated files out, with their progress.
import { $, acceptDrops, fill, glossaryOf, make, megabytes } from "./dom.js";
import { Refusal, upload } from "./service.js";

let offer;

export function startDocuments(offered) {
  offer = offered;
  const { settings, languages } = offer;
  const listed = languages.map(({ code, name }) => [code, name]);
  fill($("document-source"), [...(settings.detects ? [["auto", "Detect language"]] : []), ...listed], "auto");
  fill($("document-target"), listed, settings.language.target.code);
  $("kinds").textContent = `${settings.supportedFilesFormat.join(" ")} and other files of text, up to ${megabytes(settings.bodyLimit)}`;
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
  const bar = make("progress", { max: 1 }), state = make("span", { className: "soft", role: "status" }, "Waiting …");
  bar.setAttribute("aria-label", `Progress of ${file.name}`);
  const stop = new AbortController();
  const cancel = make("button", { className: "plain", onclick: () => stop.abort() }, "Cancel");
  const row = make("div", { className: "row" }, make("strong", {}, file.name), state, make("span", { className: "gap" }), cancel);
  const item = make("li", {}, row, bar);
  $("documents").prepend(item);
  try {
    for await (const event of events(file, stop.signal)) {
      if (event.error) throw new Refusal(event.error);
      if (event.total !== undefined) {
        bar.value = event.total ? event.done / event.total : 1;
        state.textContent = `${event.done} of ${event.total} texts`;
      } else finish(event, item, state, bar);
    }
  } catch (error) {
    if (!(error instanceof Refusal) && error.name !== "AbortError") throw error;
    state.textContent = error.name === "AbortError" ? "Cancelled" : error.message;
    state.className = "bad";
    bar.remove();
    if (/--column|--field/.test(error.message)) state.textContent += " (write it above, then choose the file again)";
  }
  cancel.remove();
}

function finish({ translatedFileUrl, name, notes }, item, state, bar) {
  bar.remove();
  state.textContent = notes.length ? "Done; please read the notes" : "Done";
  const path = new URL(translatedFileUrl).pathname;  // behind a proxy, the name of this page counts
  item.firstChild.append(make("a", { className: "button", href: path, download: name }, `Save ${name}`));
  item.append(...notes.map((note) => make("span", { className: "note doubtful" }, note)));
}

async function* events(file, signal) {
  const form = new FormData(), columns = $("columns").value.trim();
  form.append("file", file, file.name);
  form.append("source", $("document-source").value);
  form.append("target", $("document-target").value);
  form.append("glossary", glossaryOf($("document-glossary")));
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
