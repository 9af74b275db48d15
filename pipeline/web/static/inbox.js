// Keys for the inbox. Each does what a button or a link of the page does.
"use strict";

const pane = document.getElementById("item");
const keysOn = document.getElementById("keys-on");
const help = document.getElementById("keys");
const KEPT = "reverie.inbox.keys";
let asked = 0;

const rows = () => [...document.querySelectorAll(".pick")];
const opened = () => document.querySelector(".pick[data-open]");
const tick = (row) => row && row.querySelector("input");
const inPane = (key) => pane && pane.querySelector(`[data-key="${key}"]`);

function show(row) {
  const before = opened();
  if (before) {
    before.removeAttribute("data-open");
    before.querySelector("a").removeAttribute("aria-current");
  }
  row.setAttribute("data-open", "");
  const link = row.querySelector("a");
  link.setAttribute("aria-current", "true");
  link.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

// An answer that comes late, for a row that was left since, is not shown.
async function open(row) {
  const mine = ++asked;
  show(row);
  const link = row.querySelector("a").href;
  try {
    const answer = await fetch(row.dataset.part);
    if (!answer.ok) throw new Error(answer.statusText);
    const text = await answer.text();
    if (mine !== asked) return;
    pane.innerHTML = text;
    document.getElementById("inbox").classList.remove("follows");
    history.replaceState(null, "", link.replace(/#.*/, ""));
  } catch {
    if (mine === asked) location.assign(link);
  }
}

function move(by) {
  const all = rows();
  const row = all[all.indexOf(opened()) + by];
  if (!leaves()) return;
  if (row) open(row);
  else if (inPane(by > 0 ? "j" : "k")) inPane(by > 0 ? "j" : "k").click();
}

// A second press while the first is under way, or right after it, would decide the next one unseen.
const justDecided = () => Boolean(document.querySelector(".follows #many button")?.getAnimations().length);
let decided = false;
function decide(key, word) {
  const row = opened();
  const shown = pane.querySelector("[data-number]");
  const many = document.querySelector(".pick input:checked");
  if (decided || justDecided() || (!many && row && shown && row.dataset.item !== shown.dataset.number)) return;
  const button = many ? document.querySelector(`#many [value="${word}"]`) : inPane(key);
  if (!button) return;
  decided = true;
  button.click();
}

function edit() {
  const box = document.getElementById("edit");
  if (!box) return;
  box.open = true;
  box.querySelector("textarea").focus();
}

const box = () => document.getElementById("text");
const typedIn = () => box() && box().value !== box().defaultValue;
// What was typed goes with the form of the open item alone.
const leaves = () => !typedIn() || confirm("What you typed into the text is not kept yet. Leave it?");

const DOES = {
  j: () => move(1),
  k: () => move(-1),
  a: () => decide("a", "accept"),
  r: () => decide("r", "reject"),
  e: edit,
  x: () => tick(opened())?.click(),
  "?": () => { help.open = !help.open; help.querySelector("summary").focus(); },
};

if (pane) {
  // After a decision the keyboard goes on where the list does.
  if (new URLSearchParams(location.search).has("done")) opened()?.querySelector("a").focus({ preventScroll: true });
  keysOn.checked = sessionStorage.getItem(KEPT) !== "off";
  keysOn.addEventListener("change", () => sessionStorage.setItem(KEPT, keysOn.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("textarea, select, input:not([type=checkbox])");
    if (typing) {
      if (event.key === "Escape") pane.focus();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat && !"jk".includes(event.key)) return;
    if (!DOES[event.key] || (!keysOn.checked && event.key !== "?")) return;
    event.preventDefault();
    DOES[event.key]();
  });
  pane.addEventListener("click", (event) => {
    if (event.target.closest('[data-key="e"]')) { event.preventDefault(); edit(); }
  });
  document.querySelector(".picks").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || innerWidth < 960) return;
    event.preventDefault();
    if (leaves()) open(link.closest(".pick"));
  });
  document.getElementById("many").addEventListener("submit", (event) => {
    if (leaves()) return;
    event.preventDefault();
    decided = false;
  });
  // Back from another page the browser may show this one as it was left.
  addEventListener("pageshow", () => { decided = false; });
}
