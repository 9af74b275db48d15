// Keeps a part of the page as it is now, as long as somebody looks at it.
"use strict";

const part = document.querySelector("[data-live]");
const note = document.querySelector("[data-live-note]");
let source = null;
let asking = false;
let again = false;

async function put(target, address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(String(answer.status));
  const made = new DOMParser().parseFromString(await answer.text(), "text/html");
  const open = [...target.querySelectorAll("details")].map((each) => each.open);
  const focused = target.contains(document.activeElement) ? document.activeElement.id : "";
  target.replaceChildren(...made.body.childNodes);
  target.querySelectorAll("details").forEach((each, number) => { each.open = Boolean(open[number]); });
  if (focused) document.getElementById(focused)?.focus();
}

function tell(text) {
  if (note && note.textContent !== text) note.textContent = text;
}

async function renew() {
  if (asking) { again = true; return; }
  asking = true;
  try {
    await put(part, part.dataset.live);
    tell("Live: changes show by themselves.");
  } catch {
    tell("The page's server does not answer. Load the page again, or type reverie open.");
  }
  asking = false;
  if (again) { again = false; renew(); }
}

function close() {
  source?.close();
  source = null;
}

function open() {
  if (source || document.hidden) return;
  source = new EventSource(part.dataset.stream);
  source.addEventListener("open", () => tell("Live: changes show by themselves."));
  source.addEventListener("changed", renew);
  source.addEventListener("error", () => tell("Not connected. Trying again."));
}

if (part) {
  // A tab that nobody sees keeps no server awake.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { close(); } else { open(); renew(); }
  });
  window.addEventListener("pagehide", close);
  open();
}

// What takes longer to find out comes after the page.
for (const target of document.querySelectorAll("[data-load]")) {
  put(target, target.dataset.load).catch(() => {});
}
