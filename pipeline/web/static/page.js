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
  if (below > 0) {
    // It begins with a whole row, and has room below for that.
    const edge = listed.getBoundingClientRect().top;
    const tops = [...listed.querySelectorAll(".row")].map((row) => row.getBoundingClientRect().top - edge);
    const wanted = tops.find((top) => top >= below + listed.clientHeight / 3) ?? tops[tops.length - 1];
    const missing = wanted + listed.clientHeight - listed.scrollHeight;
    if (missing > 0) listed.style.paddingBlockEnd = `calc(2.5rem + ${missing}px)`;
    listed.scrollTop = wanted;
  }
}
