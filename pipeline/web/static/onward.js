// Goes where the link leads by itself; going back does not lead here again.
"use strict";

location.replace(document.querySelector("[data-onward]").href);
