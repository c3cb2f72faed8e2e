#!/usr/bin/env python3
"""Draws docs/pictures/parts.svg: the parts of lockstep in the order in which a step passes them.

Usage: parts_picture.py [FILE]
"""

import pathlib
import sys
from html import escape

FILE = pathlib.Path(__file__).parents[1] / "docs/pictures/parts.svg"

WIDTH, HEIGHT = 860, 420
#: For who does not see it.
PARTS = ("Two ranks, each a process. In a rank, data and model with its step are recorded as a graph; the compiler makes a "
         "program of it, which is cached and runs on a simulated accelerator. An all-reduce sums the gradients of all "
         "ranks in one fixed order. Checkpoints, watchdog and launch, and profile, trace and report are for the whole job.")

#: Colours of light and dark pages; the picture follows the reader's.
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1f2328; }
.name { font-weight: 600; }
.small { font-size: 12.5px; fill: #4b5560; }
.box { fill: #f6f8fa; stroke: #8c959f; }
.rank { fill: none; stroke: #8c959f; stroke-dasharray: 4 3; }
.device { fill: #ddf4ff; stroke: #0969da; }
.sum { fill: #fff1e5; stroke: #bc4c00; }
.arrow { stroke: #59636e; stroke-width: 1.5; fill: none; marker-end: url(#head); }
.head { fill: #59636e; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; }
.small { fill: #b1bac4; }
.box { fill: #151b23; stroke: #656c76; }
.rank { stroke: #656c76; }
.device { fill: #0d2240; stroke: #4493f8; }
.sum { fill: #3d1f0a; stroke: #db6d28; }
.arrow { stroke: #9198a1; }
.head { fill: #9198a1; }
}
"""


def box(x, y, width, height, name, *lines, kind="box"):
    middle = x + width / 2
    top = y + height / 2 - 8 * len(lines) + 5
    out = [f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>',
           f'<text class="name" x="{middle:g}" y="{top:g}" text-anchor="middle">{escape(name)}</text>']
    out += [f'<text class="small" x="{middle:g}" y="{top + 16 * (number + 1):g}" text-anchor="middle">{escape(line)}</text>'
            for number, line in enumerate(lines)]
    return out


def arrow(*points):
    return [f'<path class="arrow" d="M{" L".join(f"{x},{y}" for x, y in points)}"/>']


def rank(x, number):
    out = [f'<rect class="rank" x="{x}" y="16" width="410" height="244" rx="10"/>',
           f'<text class="small" x="{x + 14}" y="36">rank {number}: one process</text>']
    out += box(x + 14, 46, 118, 58, "data", "loader, workers")
    out += box(x + 146, 46, 118, 58, "model, step", "recorded lazily")
    out += box(x + 278, 46, 118, 58, "graph", "ops, gradients")
    out += box(x + 278, 122, 118, 58, "compiler", "passes, plan")
    out += box(x + 14, 122, 250, 58, "program", "compiled once, then cached")
    out += box(x + 14, 198, 382, 50, "simulated accelerator", "own memory with a limit, own thread, counted copies",
               kind="device")
    out += arrow((x + 132, 75), (x + 144, 75)) + arrow((x + 264, 75), (x + 276, 75))
    out += arrow((x + 337, 104), (x + 337, 120)) + arrow((x + 278, 151), (x + 266, 151))
    out += arrow((x + 139, 180), (x + 139, 196))
    return out


def picture():
    out = rank(14, 0) + rank(436, 1)
    out += box(200, 282, 460, 44, "all-reduce of gradients", "one fixed order, whatever the number of ranks", kind="sum")
    for x in (300, 560):
        out += [f'<path class="arrow" marker-start="url(#head)" d="M{x},248 L{x},280"/>']
    out += ['<text class="small" x="14" y="350">for the whole job:</text>']
    out += box(14, 360, 266, 46, "checkpoints", "HDF5, sealed, one hash")
    out += box(297, 360, 266, 46, "watchdog and launch", "who is stuck, restarts")
    out += box(580, 360, 266, 46, "profile, trace, report", "where the time goes")
    body = "\n".join(out)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title parts">
<title id="title">The parts of lockstep</title>
<desc id="parts">{escape(PARTS)}</desc>
<style>{STYLE}</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
<path class="head" d="M0,0 L8,4 L0,8 z"/></marker></defs>
{body}
</svg>
"""


if __name__ == "__main__":
    pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else FILE).write_text(picture())
