// Requests to the service, and what the page says when it is busy or gone.
import { $ } from "./dom.js";
import { t } from "./texts.js";

const RETRIES = 5;
let key = sessionStorage.getItem("attn-key") || "";
let gone = null;  // a promise while the service cannot be reached

export class Refusal extends Error {}

export async function get(path) {
  return (await send(path, {})).json();
}

export async function post(path, values, signal) {
  const body = JSON.stringify(values);
  const headers = { "Content-Type": "application/json" };
  return (await send(path, { method: "POST", body, headers, signal })).json();
}

export async function upload(path, body, headers = {}, signal = undefined) {
  return send(path, { method: "POST", body, headers, signal });
}

async function send(path, options, attempt = 0) {
  let response;
  const headers = { ...options.headers, ...(key && { Authorization: `Bearer ${key}` }) };
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    await untilBack();
    return send(path, options, attempt);
  }
  if (response.ok) return response;
  const message = (await response.json().catch(() => ({}))).error || response.statusText;
  const wait = Number(response.headers.get("Retry-After"));
  if (response.status === 403 && /key/i.test(message)) {
    await askForKey();
    return send(path, options, attempt);
  }
  if ((response.status === 503 || response.status === 429) && wait && attempt < RETRIES) {
    say(t("{message}. Trying again in {wait} s.", { message, wait }));
    await sleep(1000 * wait, options.signal);
    say("");
    return send(path, options, attempt + 1);
  }
  throw new Refusal(message);
}

function say(text) {
  $("banner").textContent = text;
  $("banner").hidden = !text;
}

// Wait until a service that cannot be reached answers again.
function untilBack() {
  gone ||= (async () => {
    say(t("The service has gone. Start it again with: attn serve. This page then goes on."));
    for (;;) {
      await sleep(1500);
      if (await fetch("/health").then((answer) => answer.ok, () => false)) break;
    }
    say("");
    gone = null;
  })();
  return gone;
}

function askForKey() {
  return new Promise((done) => {
    const dialog = $("key");
    $("key-wrong").hidden = !key;
    dialog.onclose = () => {
      key = $("key-input").value.trim();
      sessionStorage.setItem("attn-key", key);
      done();
    };
    if (!dialog.open) dialog.showModal();
  });
}

function sleep(milliseconds, signal) {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      fail(signal.reason);
    });
  });
}
