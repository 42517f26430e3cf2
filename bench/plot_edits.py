"""plot_edits.py: a picture of the time and of the WAL that one edit takes,
against the document's size.

Two panels, made as those of plot.py are, of documents of records: a key is
set (solid), an element of an array is inserted (dashed, hollow).  The points
are the medians of single statements.
"""

import plot
import values
from edit_workloads import EDITED
from measure import median
from plot import (BOTTOM, COLOURS, HEIGHT, LEFT, PANEL, TOP, Axis, axes, curve,
                  head, legend, text)

# The second panel has numbers of its own at its axis.
GAP = 80
SHRINK = 60

KIND = "records"
LINES = (("key, same length", ""), ("insert into array", "5 3"))


def _size_name(count):
    return values.size_name(int(count))


PANELS = (("milliseconds", 1000, "time of the statement", plot.us_name),
          ("wal", 1, "WAL of the statement", _size_name))


def _points(results, label, variant, field, scale):
    return [(result["flat"], scale * median(
        [sample[field] for sample in result["samples"][variant][1:]]))
        for result in results
        if result["kind"] == KIND and result["label"] == label]


def draw(result):
    """The SVG of a result of the benchmarks."""
    results = result["suites"].get("edits", {}).get("sizes")
    if not results:
        raise ValueError("there are no edits by size in this result")
    drawn = head("One UPDATE that changes a part of a jsonb document, by the "
                 "size of the document")
    width = PANEL - SHRINK / 2
    for number, (field, scale, title, name) in enumerate(PANELS):
        lines = [(variant, dash, _points(results, label, variant, field,
                                         scale))
                 for label, dash in LINES for variant in EDITED]
        every = [point for _, _, points in lines for point in points]
        left = LEFT + number * (width + GAP)
        x = Axis([size for size, _ in every], left, left + width)
        y = Axis([each for _, each in every], HEIGHT - BOTTOM, TOP)
        drawn.append(text(left + width / 2, TOP - 14, title, "middle"))
        drawn += axes(x, y, name)
        for variant, dash, points in lines:
            drawn += curve(points, x, y, COLOURS[variant], dash)
    return "\n".join([*drawn, *legend(x, EDITED, LINES), "</svg>"]) + "\n"
