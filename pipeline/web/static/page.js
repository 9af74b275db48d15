// What makes the page quicker to use. Without it every page works: forms and links do the same.
"use strict";

document.documentElement.classList.add("js");

// The list of projects goes there at once.
for (const choice of document.querySelectorAll("form.place select")) {
  choice.addEventListener("change", () => choice.form.submit());
}
