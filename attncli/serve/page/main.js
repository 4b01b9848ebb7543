// The start of the page: tabs, what the service offers, the link in the fragment.
import { $, roving } from "./dom.js";
import { get, Refusal } from "./service.js";
import { startText } from "./text.js";
import { startImages } from "./image.js";
import { startDocuments } from "./documents.js";
import { startSound } from "./sound.js";
import { startLabels } from "./classify.js";
import { showModels } from "./models.js";
import { translatePage } from "./texts.js";

const tabs = [...document.querySelectorAll("[role=tab]")];

export function choose(name) {
  for (const tab of tabs) {
    const chosen = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
}

tabs.forEach((tab) => {
  tab.onclick = () => choose(tab.id.slice(4));
  tab.onkeydown = (event) => {
    const shown = tabs.filter((one) => !one.hidden), next = roving(shown, event.key, shown.indexOf(tab));
    if (next < 0) return;
    event.preventDefault();
    shown[next].focus();
    shown[next].click();
  };
});

async function start() {
  translatePage();
  try {
    const [settings, languages, models] = await Promise.all(
      ["/frontend/settings", "/languages", "/models"].map(get));
    const link = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const offer = { settings, languages, models };
    const use = { text: startText(offer, link), image: startImages(offer), label: startLabels(offer), sound: startSound(offer) };
    startDocuments(offer);
    showModels(models, (model) => {
      const view = { caption: "image", classify: "label", transcribe: "sound" }[model.task] ?? "text";
      use[view](model.name);
      choose(view);
    });
    if (tabs.some((tab) => tab.id === `tab-${link.view}`)) choose(link.view);
    document.body.dataset.ready = "yes";
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    $("banner").textContent = error.message;
    $("banner").hidden = false;
  }
}

start();
