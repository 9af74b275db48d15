"""How fluid the graph's picture is: ``python -m tests.browser.frames``.

What one frame of panning over 2,000 memories costs the page's script, as a ratio to drawing as many discs and
lines bare. A figure, not a test: it is told, and nothing fails by it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pipeline.core import paths
from pipeline.core.ids import derived_id
from tests.browser.conftest import BROWSER, DRIVER, serving
from tests.browser.filling import surroundings
from tests.browser.tab import opened
from tests.cli.conftest import Desk, make_desk

MANY = 2_000
STEPS = 120
_NOTE = """
const ask = window.requestAnimationFrame.bind(window);
window.__frames = [];
window.requestAnimationFrame = (draw) => ask((at) => {
  const begin = performance.now();
  draw(at);
  window.__frames.push(performance.now() - begin);
});
"""
_PAN = """
const [steps, done] = arguments, canvas = document.querySelector(".graph-canvas");
const box = canvas.getBoundingClientRect();
const send = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, {
  pointerId: 1, clientX: box.left + x, clientY: box.top + y, bubbles: true, buttons: 1, isPrimary: true }));
canvas.setPointerCapture = () => {};
window.__frames.length = 0;
send("pointerdown", 3, 3);
let left = steps;
const wait = window.setInterval(() => {
  if (!left--) { clearInterval(wait); send("pointerup", 3, 3); done(window.__frames); return; }
  send("pointermove", 3 + (steps - left) * 3, 3 + (steps - left));
}, 20);
"""
_BARE = """
const [discs, lines, rounds] = arguments, canvas = document.createElement("canvas"), found = [];
canvas.width = 1120; canvas.height = 640;
document.body.append(canvas);
const pen = canvas.getContext("2d"), x = (i) => (i * 7919) % 1120, y = (i) => (i * 104729) % 640;
for (let round = 0; round < rounds; round++) {
  const begin = performance.now();
  pen.clearRect(0, 0, 1120, 640);
  pen.beginPath();
  for (let i = 0; i < lines; i++) { pen.moveTo(x(i), y(i)); pen.lineTo(x(i + 1), y(i + 1)); }
  pen.stroke();
  for (let i = 0; i < discs; i++) { pen.beginPath(); pen.arc(x(i), y(i), 5, 0, 7); pen.fill(); }
  found.push(performance.now() - begin);
}
return found;
"""


def related(root: Path, many: int) -> Desk:
    """Make a home below `root` with `many` memories, each related to three."""
    desk = make_desk(root)
    with surroundings(desk):
        folder = paths.project_store(desk.project)
    folder.mkdir(parents=True)
    for number in range(many):
        lines = [f"---\nid: {derived_id('frames', str(number))}", f"name: memory-{number}", "relations:"]
        for other in {number // 2, number // 3, (number * 7) % many} - {number}:
            lines += [
                f"  - target: {derived_id('frames', str(other))}",
                "    type: RELATED_TO\n    direction: outgoing\n    strength: 0.5",
            ]
        lines += ["type: project", f"title: Memory {number}\n---\nIt is number {number}.\n"]
        (folder / f"memory-{number}.md").write_text("\n".join(lines), "utf-8")
    return desk


def main() -> int:
    """Measure, and print the figures."""
    assert BROWSER and DRIVER, "apt-get install chromium chromium-driver"
    with (
        tempfile.TemporaryDirectory() as scratch,
        tempfile.TemporaryDirectory() as profile,
        serving(related(Path(scratch), MANY)) as address,
        opened(BROWSER, DRIVER, Path(profile)) as tab,
    ):
        tab.before(address)
        tab.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _NOTE})
        tab.open("graph")
        tab.until("the picture is drawn", lambda: tab.script("return window.__frames.length"))
        drawn = tab.script(
            "return fetch(document.querySelector('.graph').dataset.picture).then((answer) => answer.json())"
        )
        discs, lines = len(drawn["spots"]), len(drawn["bonds"])
        frames = sorted(tab.driver.execute_async_script(_PAN, STEPS))
        bare = sorted(tab.script(_BARE, discs, lines, STEPS))
    middle, floor = frames[len(frames) // 2], bare[len(bare) // 2]
    sys.stdout.write(
        f"{discs} memories, {lines} relations; {len(frames)} frames for {STEPS} steps\n"
        f"a frame's script: {middle:.2f} ms at the median, {frames[-len(frames) // 20]:.2f} ms at the 95th "
        f"percentile; bare: {floor:.2f} ms; ratio {middle / floor:.2f}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
