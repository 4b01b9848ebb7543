// The page's own texts in the language of the person: the English ones are the keys of texts.json.
import { $, fill } from "./dom.js";

const table = await (await fetch("/page/texts.json")).json();
const NAMES = { en: "English", de: "Deutsch", fr: "Français", es: "Español" };
export const language = [localStorage.getItem("attn-language"), ...navigator.languages]
  .map((code) => code?.slice(0, 2)).find((code) => code in NAMES) ?? "en";

// A text with values in place of {name}, in the language of the page or another one.
export function t(text, values = {}, code = language) {
  return (table[text]?.[code] ?? text).replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// The name of a language that the service names in English.
export function languageName({ code, name }) {
  try {
    return language === "en" ? name : new Intl.DisplayNames([language], { type: "language", fallback: "none" }).of(code) ?? name;
  } catch {  // no code of a language
    return name;
  }
}

// Translate the document, and let the language be chosen.
export function translatePage() {
  document.documentElement.lang = language;
  fill($("page-language"), Object.entries(NAMES), language);
  $("page-language").onchange = () => {
    localStorage.setItem("attn-language", $("page-language").value);
    location.reload();
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data } = walker.currentNode, text = data.trim().replace(/\s+/g, " ");
    if (text in table) walker.currentNode.data = data.replace(data.trim(), () => t(text));
  }
  for (const name of ["title", "placeholder", "aria-label"])
    for (const element of document.querySelectorAll(`[${name}]`)) element.setAttribute(name, t(element.getAttribute(name)));
}
