// Small helpers for the document.

export const $ = (id) => document.getElementById(id);

// An element with properties and children; text is never read as HTML.
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

// Fill a select again only if its options change.
export function refill(select, options) {
  const same = [...select.options].map(({ value }) => value).join() === options.map(([value]) => value).join();
  if (!same) fill(select, options, select.value);
}

// Tell the state of a view; `bad`: as an error.
export function tell(id, text, bad = false) {
  $(id).textContent = text;
  $(id).classList.toggle("bad", bad);
}

// Call a function when `wait` milliseconds have passed without another call.
export function later(wait, work) {
  let timer = 0;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
}

export function megabytes(bytes) {
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

// The glossary of a text area, "term = translation" on each line, as the service reads it.
export function glossaryOf(area) {
  const lines = area.value.split("\n").map((line) => line.split(/\t|\s=\s|=/, 2).map((part) => part.trim()));
  return lines.filter(([term, translation]) => term && translation).map((pair) => pair.join("\t")).join("\n");
}

// Let files be dropped on an element.
export function acceptDrops(element, take) {
  const over = (on) => (event) => {
    event.preventDefault();
    element.classList.toggle("over", on);
  };
  element.addEventListener("dragover", over(true));
  element.addEventListener("dragleave", over(false));
  element.addEventListener("drop", (event) => {
    over(false)(event);
    take([...event.dataTransfer.files]);
  });
}

// Words of which only one is reached by Tab and the arrow keys move among them. `show(index)` is called for the word that
// is pointed at or reached.
export function wordSpans(words, show) {
  const spans = words.map((word, at) => {
    const span = make("span", { className: "word", tabIndex: at ? -1 : 0 }, word);
    span.onmouseenter = span.onfocus = () => show(at);
    span.onkeydown = (event) => {
      const next = roving(spans, event.key, at);
      if (next < 0) return;
      event.preventDefault();
      spans.forEach((one, n) => { one.tabIndex = n === next ? 0 : -1; });
      spans[next].focus();
    };
    return span;
  });
  return spans;
}

// Arrow keys move among elements of which only one is reached by Tab.
export function roving(elements, key, at) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
  const next = key === "Home" ? 0 : key === "End" ? elements.length - 1 : at + (step || 0);
  return step || key === "Home" || key === "End"
    ? Math.min(Math.max(next, 0), elements.length - 1) : -1;
}
