// The picture of the graph: a small layout by forces on a canvas. The list on the page tells the same.
"use strict";

(() => {
  const section = document.querySelector("section.graph");
  if (!section) return;
  const view = section.querySelector(".graph-view");
  const canvas = section.querySelector("canvas");
  const pen = canvas.getContext("2d");
  const told = section.querySelector(".graph-said");
  const form = document.querySelector("form.graph-choices");
  const kept = document.getElementById("graph-data");
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  let spots = [], bonds = [], near = [];
  let x, y, vx, vy;                   // where the spots are, and how they move
  let heat = 0;                       // of the layout; at 0 it rests
  let scale = 1, left = 0, top = 0;   // screen = place * scale + offset
  let chosen = -1, under = -1, moved = false, waits = false;
  let paint = {};

  // -- what is shown ------------------------------------------------------------------------------

  function take(data) {
    const before = new Map(spots.map((spot, i) => [spot.scope + " " + spot.name, [x[i], y[i]]]));
    spots = data.spots;
    bonds = data.bonds;
    const n = spots.length;
    near = Array.from({ length: n }, () => []);
    for (const [a, b, type] of bonds) { near[a].push([b, type, true]); near[b].push([a, type, false]); }
    x = new Float64Array(n); y = new Float64Array(n); vx = new Float64Array(n); vy = new Float64Array(n);
    const inGroup = new Map();
    let known = 0;
    spots.forEach((spot, i) => {
      const place = before.get(spot.scope + " " + spot.name);
      if (place) { [x[i], y[i]] = place; known += 1; return; }
      // A group begins together, the groups on a spiral: always the same picture of the same memories.
      const k = inGroup.get(spot.group) || 0;
      inGroup.set(spot.group, k + 1);
      const turn = 2.39996, g = spot.group || 40 + (i % 400);
      x[i] = 60 * Math.sqrt(g) * Math.cos(turn * g) + 9 * Math.sqrt(k) * Math.cos(turn * k);
      y[i] = 60 * Math.sqrt(g) * Math.sin(turn * g) + 9 * Math.sqrt(k) * Math.sin(turn * k);
    });
    chosen = under = -1;
    moved = false;
    heat = known === n && n ? 0.2 : 1;
    if (still || document.hidden) while (heat > 0) step();
    // The first steps are the wildest, and nobody needs to see them.
    const until = performance.now() + 150;
    while (heat > 0.5 && performance.now() < until) step();
    fit();
  }

  function fits(spot, choice) {
    return (!choice.type || spot.type === choice.type) && (!choice.band || spot.band === choice.band)
      && (!choice.group || String(spot.group) === choice.group);
  }

  const choices = () => Object.fromEntries(new FormData(form));
  let all = null;                     // everything, where it stands in the file itself
  const MOST = 2000;

  function partOf(choice) {
    const links = all.bonds.filter((bond) => !choice.relation || bond[2] === choice.relation);
    const having = new Set(links.flatMap(([a, b]) => [a, b]));
    const numbers = all.spots.map((_, i) => i).filter((i) => fits(all.spots[i], choice) && (!choice.relation || having.has(i)));
    const shown = new Set(numbers);
    for (const row of document.querySelectorAll("[data-spot]")) row.hidden = !shown.has(Number(row.dataset.spot));
    const now = new Map(numbers.slice(0, MOST).map((i, at) => [i, at]));
    return {
      spots: [...now.keys()].map((i) => all.spots[i]),
      bonds: links.filter(([a, b]) => now.has(a) && now.has(b)).map(([a, b, ...rest]) => [now.get(a), now.get(b), ...rest]),
    };
  }

  let asked = 0;
  async function load(again) {
    if (all) { take(partOf(choices())); return; }
    const mine = ++asked;
    const query = new URLSearchParams(Object.entries(choices()).filter(([, value]) => value));
    const at = (address) => address.split("?")[0] + "?" + query;
    try {
      const answers = await Promise.all([fetch(at(section.dataset.picture)), again && fetch(at(section.dataset.list))]);
      if (answers.some((answer) => answer && !answer.ok)) throw new Error("no answer");
      const data = await answers[0].json();
      const list = again && await answers[1].text();
      if (mine !== asked) return;
      take(data);
      if (again) {
        document.querySelector(".graph-list").innerHTML = list;
        history.replaceState(null, "", at(location.pathname));
        say(`${spots.length} memories, ${bonds.length} relations`);
      }
    } catch {
      say("The picture did not come: is `reverie open` still running?");
    }
  }

  // -- layout -------------------------------------------------------------------------------------

  // Barnes and Hut: what is far away pushes as one. Cells are numbers in flat lists, four children each.
  const cell = { child: new Int32Array(0), mass: new Float64Array(0), cx: new Float64Array(0), cy: new Float64Array(0) };
  let cells = 0;

  function newCell() {
    const c = cells++;
    cell.child.fill(-1, 4 * c, 4 * c + 4);
    cell.mass[c] = cell.cx[c] = cell.cy[c] = 0;
    return c;
  }

  function tree() {
    const n = spots.length, room = 24 * n + 64;
    if (cell.mass.length < room) {
      cell.child = new Int32Array(4 * room);
      cell.mass = new Float64Array(room); cell.cx = new Float64Array(room); cell.cy = new Float64Array(room);
    }
    let x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity;
    for (let i = 0; i < n; i++) {
      if (x[i] < x0) x0 = x[i]; if (x[i] > x1) x1 = x[i];
      if (y[i] < y0) y0 = y[i]; if (y[i] > y1) y1 = y[i];
    }
    const size = Math.max(x1 - x0, y1 - y0, 1);
    cells = 0;
    newCell();
    for (let i = 0; i < n; i++) {
      let c = 0, bx = x0, by = y0, side = size;
      for (let depth = 0; ; depth++) {
        cell.mass[c] += 1; cell.cx[c] += x[i]; cell.cy[c] += y[i];
        if (depth > 9 || cells >= room - 4) break;
        side /= 2;
        const q = (x[i] >= bx + side ? 1 : 0) + (y[i] >= by + side ? 2 : 0);
        if (q & 1) bx += side;
        if (q & 2) by += side;
        let next = cell.child[4 * c + q];
        const first = next < 0;
        if (first) { next = newCell(); cell.child[4 * c + q] = next; }
        c = next;
        if (first) { cell.mass[c] = 1; cell.cx[c] = x[i]; cell.cy[c] = y[i]; break; }
        // One that was alone goes a level down when another comes.
        if (cell.mass[c] === 1 && depth < 9) {
          const ox = cell.cx[c], oy = cell.cy[c], half = side / 2;
          const oq = (ox >= bx + half ? 1 : 0) + (oy >= by + half ? 2 : 0);
          const down = newCell();
          cell.child[4 * c + oq] = down;
          cell.mass[down] = 1; cell.cx[down] = ox; cell.cy[down] = oy;
        }
      }
    }
    return size;
  }

  const stack = new Int32Array(256), sides = new Float64Array(256);

  function push(i, size) {
    let fx = 0, fy = 0, high = 1;
    stack[0] = 0; sides[0] = size;
    while (high) {
      const c = stack[--high], side = sides[high], mass = cell.mass[c];
      const dx = x[i] - cell.cx[c] / mass, dy = y[i] - cell.cy[c] / mass;
      const far = dx * dx + dy * dy;
      if (mass === 1 || side * side < 0.9 * far || isLeaf(c)) {
        if (far > 1e-6) { const f = 900 * mass / (far + 60); const d = Math.sqrt(far); fx += f * dx / d; fy += f * dy / d; }
        else if (mass > 1) { fx += Math.cos(i); fy += Math.sin(i); }
        continue;
      }
      for (let q = 0; q < 4; q++) {
        const next = cell.child[4 * c + q];
        if (next >= 0 && high < 255) { stack[high] = next; sides[high++] = side / 2; }
      }
    }
    vx[i] += fx * heat; vy[i] += fy * heat;
  }

  const isLeaf = (c) => cell.child[4 * c] < 0 && cell.child[4 * c + 1] < 0 && cell.child[4 * c + 2] < 0 && cell.child[4 * c + 3] < 0;

  function step() {
    const n = spots.length;
    if (!n) { heat = 0; return; }
    const size = tree();
    for (let i = 0; i < n; i++) push(i, size);
    for (const [a, b, , strength] of bonds) {
      const dx = x[b] - x[a], dy = y[b] - y[a], d = Math.sqrt(dx * dx + dy * dy) || 1;
      const same = spots[a].group === spots[b].group;
      const pull = (d - 45) * (same ? 0.12 : 0.03) * (0.4 + strength) * heat;
      const share = near[b].length / (near[a].length + near[b].length);
      vx[a] += pull * dx / d * share * 2; vy[a] += pull * dy / d * share * 2;
      vx[b] -= pull * dx / d * (1 - share) * 2; vy[b] -= pull * dy / d * (1 - share) * 2;
    }
    // Towards the middle, less so along the longer side of the view.
    const home = n > 200 ? 0.012 : 0.03, aspect = width() / (height() || 1) || 1;
    const homeX = home * Math.min(1, 1 / aspect), homeY = home * Math.min(1, aspect) * Math.max(1, Math.sqrt(aspect));
    for (let i = 0; i < n; i++) {
      vx[i] -= x[i] * homeX * heat; vy[i] -= y[i] * homeY * heat;
      vx[i] *= 0.6; vy[i] *= 0.6;
      if (i === held) { vx[i] = vy[i] = 0; continue; }
      const fast = Math.hypot(vx[i], vy[i]), slow = fast > 40 ? 40 / fast : 1;
      x[i] += vx[i] * slow; y[i] += vy[i] * slow;
    }
    heat *= 0.985;
    if (heat < 0.01) heat = 0;
  }

  // -- drawing ------------------------------------------------------------------------------------

  function tokens() {
    const style = getComputedStyle(document.documentElement);
    const token = (name) => style.getPropertyValue(name).trim();
    paint = {
      paper: token("--paper"), ink: token("--ink"), quiet: token("--quiet"), line: token("--line"), mark: token("--mark"),
      spots: Array.from({ length: 9 }, (_, i) => token(`--graph-${i}`)), text: token("--text"),
    };
  }

  const radius = (i) => 3.5 + Math.min(9, 1.6 * Math.sqrt(near[i].length));
  const FADED = { active: 1, new: 1, fading: 0.85, dormant: 0.7, archived: 0.55 };
  const width = () => canvas.clientWidth, height = () => canvas.clientHeight;

  function fit() {
    if (!spots.length) { ask(); return; }
    // A few that lie far out do not make the rest small.
    const sorted = (list) => Float64Array.from(list).sort();
    const sx = sorted(x), sy = sorted(y), cut = Math.floor(spots.length * 0.005), end = spots.length - 1 - cut;
    const w = Math.max(sx[end] - sx[cut], 60), h = Math.max(sy[end] - sy[cut], 60);
    scale = Math.min((width() - 90) / w, (height() - 80) / h, 2.5);
    left = width() / 2 - scale * (sx[end] + sx[cut]) / 2;
    top = height() / 2 - scale * (sy[end] + sy[cut]) / 2;
    ask();
  }

  function ask() {
    if (waits) return;
    waits = true;
    requestAnimationFrame(frame);
  }

  function frame() {
    waits = false;
    if (heat > 0) {
      const until = performance.now() + 9;
      do step(); while (heat > 0 && performance.now() < until);
      if (!moved) { const w = waits; waits = true; fit(); waits = w; }
    }
    draw();
    if (heat > 0) ask();
  }

  function draw() {
    const ratio = devicePixelRatio || 1, w = width(), h = height();
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = paint.paper;
    pen.fillRect(0, 0, w, h);
    const focus = under >= 0 ? under : chosen;
    const px = (i) => x[i] * scale + left, py = (i) => y[i] * scale + top;
    const size = Math.max(0.25, Math.min(1.6, scale));
    const seen = (i) => px(i) > -20 && py(i) > -20 && px(i) < w + 20 && py(i) < h + 20;

    pen.lineWidth = bonds.length > 1500 ? 0.6 : 1;
    pen.strokeStyle = paint.quiet;
    pen.globalAlpha = bonds.length > 1500 ? 0.35 : 0.6;
    pen.beginPath();
    for (const [a, b] of bonds) {
      if (!seen(a) && !seen(b)) continue;
      pen.moveTo(px(a), py(a)); pen.lineTo(px(b), py(b));
    }
    pen.stroke();
    pen.globalAlpha = 1;
    if (focus >= 0) {
      pen.strokeStyle = paint.mark; pen.fillStyle = paint.mark; pen.lineWidth = 2;
      for (const [other, , leads] of near[focus]) leads ? arrow(focus, other) : arrow(other, focus);
    }
    for (let colour = 0; colour < 9; colour++) {
      pen.fillStyle = paint.spots[colour];
      for (let i = 0; i < spots.length; i++) {
        if (spots[i].colour !== colour || !seen(i)) continue;
        pen.globalAlpha = FADED[spots[i].band] || 1;
        pen.beginPath(); pen.arc(px(i), py(i), radius(i) * size, 0, 7); pen.fill();
      }
    }
    pen.globalAlpha = 1;
    if (focus >= 0) {
      pen.strokeStyle = paint.ink; pen.lineWidth = 2;
      pen.beginPath(); pen.arc(px(focus), py(focus), radius(focus) * size + 3, 0, 7); pen.stroke();
    }
    labels(focus, px, py, size, seen);

    function arrow(a, b) {
      const dx = px(b) - px(a), dy = py(b) - py(a), d = Math.hypot(dx, dy) || 1, r = radius(b) * size + 3;
      const ex = px(b) - dx / d * r, ey = py(b) - dy / d * r;
      pen.beginPath(); pen.moveTo(px(a), py(a)); pen.lineTo(ex, ey); pen.stroke();
      pen.beginPath(); pen.moveTo(ex, ey);
      pen.lineTo(ex - 8 * dx / d + 4 * dy / d, ey - 8 * dy / d - 4 * dx / d);
      pen.lineTo(ex - 8 * dx / d - 4 * dy / d, ey - 8 * dy / d + 4 * dx / d);
      pen.fill();
    }
  }

  // Isolated, so that text from right to left has its end on the left.
  const short = (text) => { const signs = [...text]; return `\u2068${signs.length > 34 ? signs.slice(0, 33).join("") + "…" : text}\u2069`; };

  function labels(focus, px, py, size, seen) {
    // Most related first, and none over another.
    const order = focus >= 0 ? [focus, ...near[focus].map(([other]) => other)] : [];
    const most = order.length + (heat > 0.3 ? 12 : spots.length > 500 ? 45 : 90);
    for (let i = 0; i < spots.length && order.length < 400; i++) order.push(i);
    const taken = [];
    pen.font = `12px ${paint.text}`;
    pen.textAlign = "center"; pen.textBaseline = "top";
    pen.lineJoin = "round"; pen.lineWidth = 4;
    let shown = 0;
    for (const i of order) {
      if (shown >= most) break;
      if (!seen(i)) continue;
      const text = short(spots[i].title || spots[i].name), wide = pen.measureText(text).width + 8;
      const lx = Math.min(Math.max(px(i), wide / 2), Math.max(wide / 2, width() - wide / 2)), ly = py(i) + radius(i) * size + 3;
      if (taken.some(([a, b, c]) => Math.abs(a - lx) < (wide + c) / 2 && Math.abs(b - ly) < 16)) continue;
      taken.push([lx, ly, wide]);
      shown += 1;
      pen.strokeStyle = paint.paper; pen.strokeText(text, lx, ly);
      pen.fillStyle = i === focus ? paint.ink : paint.quiet; pen.fillText(text, lx, ly);
    }
  }

  // -- pointer and keys ---------------------------------------------------------------------------

  let held = -1, pans = false, from = null, dragged = false;
  const fingers = new Map();

  function at(event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  function hit(mx, my) {
    let best = -1, least = 14;
    for (let i = 0; i < spots.length; i++) {
      const d = Math.hypot(x[i] * scale + left - mx, y[i] * scale + top - my) - radius(i) * Math.min(1, scale) / 2;
      if (d < least) { least = d; best = i; }
    }
    return best;
  }

  function zoom(factor, mx = width() / 2, my = height() / 2) {
    const next = Math.min(8, Math.max(0.03, scale * factor));
    left = mx - (mx - left) * next / scale;
    top = my - (my - top) * next / scale;
    scale = next; moved = true;
    ask();
  }

  function say(text) { told.textContent = text; }

  function tell(i) {
    if (i < 0) { say(""); return; }
    const spot = spots[i], some = near[i].slice(0, 3).map(([o, type, leads]) =>
      `${leads ? "" : "← "}${type.replaceAll("_", " ").toLowerCase()}${leads ? " →" : ""} ${spots[o].name}`);
    say(`${spot.name}: ${spot.type}, ${spot.band}, ${spot.relations} ${spot.relations === 1 ? "relation" : "relations"}${some.length ? `: ${some.join(", ")}` : ""}`);
  }

  function open(i) {
    if (i < 0) return;
    const { url } = spots[i];
    // In a file that was kept, the list stands on the same page.
    if (url.startsWith("#")) document.getElementById(url.slice(1))?.scrollIntoView({ block: "center" });
    else if (url.startsWith("/")) location.assign(url);
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    from = at(event); dragged = false;
    held = fingers.size === 1 ? hit(...from) : -1;
    pans = fingers.size === 1 && held < 0;
  });

  canvas.addEventListener("pointermove", (event) => {
    const [mx, my] = at(event), before = fingers.get(event.pointerId);
    if (!before) {
      const now = hit(mx, my);
      if (now !== under) { under = now; canvas.style.cursor = now < 0 ? "" : "pointer"; tell(now); ask(); }
      return;
    }
    if (Math.hypot(mx - from[0], my - from[1]) > 4) dragged = true;
    if (fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const was = Math.hypot(before[0] - other[0], before[1] - other[1]) || 1;
      zoom(Math.hypot(mx - other[0], my - other[1]) / was, (mx + other[0]) / 2, (my + other[1]) / 2);
    } else if (held >= 0 && dragged) {
      x[held] = (mx - left) / scale; y[held] = (my - top) / scale;
      moved = true; heat = still ? 0 : Math.max(heat, 0.12);
    } else if (pans) {
      left += mx - before[0]; top += my - before[1];
      moved = true;
    }
    fingers.set(event.pointerId, [mx, my]);
    ask();
  });

  function release(event) {
    if (event.type === "pointerup" && !dragged && held >= 0 && fingers.size === 1) { chosen = held; tell(held); open(held); }
    fingers.delete(event.pointerId);
    held = -1; pans = false;
    ask();
  }
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { under = -1; ask(); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...at(event));
  }, { passive: false });

  const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  function next([dx, dy]) {
    if (chosen < 0) return spots.length ? 0 : -1;
    let best = chosen, least = Infinity;
    for (let i = 0; i < spots.length; i++) {
      const ax = x[i] - x[chosen], ay = y[i] - y[chosen], along = ax * dx + ay * dy, aside = Math.abs(ax * dy) + Math.abs(ay * dx);
      const cost = along + 2 * aside;
      if (i !== chosen && along > 0.01 && aside <= 2 * along && cost < least) { least = cost; best = i; }
    }
    return best;
  }

  function show(i) {
    chosen = i; under = -1;
    tell(i);
    const sx = x[i] * scale + left, sy = y[i] * scale + top, edge = 40;
    if (sx < edge || sy < edge || sx > width() - edge || sy > height() - edge) { left += width() / 2 - sx; top += height() / 2 - sy; moved = true; }
    ask();
  }

  const KEYS = {
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), "0": () => { moved = false; fit(); },
    "Enter": () => open(chosen), "Escape": () => { chosen = -1; say(""); ask(); },
  };

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const way = WAYS[event.key], key = KEYS[event.key];
    if (!way && !key) return;
    event.preventDefault();
    if (key) key();
    else if (event.shiftKey) { left -= 60 * way[0]; top -= 60 * way[1]; moved = true; ask(); }
    else { const i = next(way); if (i >= 0) show(i); }
  });

  section.querySelector(".graph-tools").addEventListener("click", (event) => {
    const what = event.target.dataset.do;
    if (what) KEYS[{ in: "+", out: "-", fit: "0" }[what]]();
  });

  // -- start --------------------------------------------------------------------------------------

  document.documentElement.classList.add("js");
  for (const part of section.querySelectorAll("[hidden]")) part.hidden = false;
  tokens();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { tokens(); ask(); });
  new ResizeObserver(() => { if (moved) ask(); else fit(); }).observe(view);
  form.addEventListener("change", () => load(true));
  form.addEventListener("submit", (event) => { event.preventDefault(); load(true); });
  if (kept) all = JSON.parse(kept.textContent);
  load(false);
})();
