// The list of memories follows what is typed. Without it the button does the same.
"use strict";

const form = document.querySelector("form.search");
const found = document.getElementById("found");
const PAUSE = 60;
let waiting = 0;
let running = null;

function asked() {
  const fields = [...new FormData(form)].filter(([, value]) => value !== "");
  return new URLSearchParams(fields);
}

async function look() {
  if (running) running.abort();
  running = new AbortController();
  const query = asked();
  const address = new URL(form.dataset.part, location.href);
  for (const [name, value] of query) address.searchParams.set(name, value);
  try {
    const answer = await fetch(address, { signal: running.signal });
    // What went wrong is told by the page itself, to which the form leads.
    if (!answer.ok) return;
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    found.replaceChildren(...part.body.childNodes);
    history.replaceState(null, "", query.size ? `${form.action}?${query}` : form.action);
  } catch (error) {
    if (error.name !== "AbortError") console.warn("the list is not in step:", error.message);
  }
}

if (form && found) {
  form.addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(look, event.target.type === "search" ? PAUSE : 0);
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      document.getElementById("q").focus();
    }
  });
}
