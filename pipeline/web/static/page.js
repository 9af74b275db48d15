// What makes the page quicker to use. Without it every page works: forms and links do the same.
"use strict";

document.documentElement.classList.add("js");

// The list of projects goes there at once.
for (const choice of document.querySelectorAll("form.place select")) {
  choice.addEventListener("change", () => choice.form.submit());
}

// Beside a memory the list shows where in it one is.
const listed = document.querySelector(".listed");
const current = listed && listed.querySelector("[data-current]");
if (current) {
  const below = current.getBoundingClientRect().bottom - listed.getBoundingClientRect().bottom;
  if (below > 0) listed.scrollTop = below + listed.clientHeight / 2;
}
