"""plot.py: a picture of the time that a key takes, against the document's size.

SVG without a library, since a machine that runs benchmarks seldom has one.
A panel for each kind of documents.  Both axes are logarithmic; the lines are
those of variants.VARIANTS; drawn are the reads of one key (solid) and of the
middle element of an array (dashed, hollow).
"""

import math

import report_documents
import values
from variants import TITLES, VARIANTS

WIDTH, HEIGHT = 960, 430
LEFT, TOP, BOTTOM = 70, 70, 50
PANEL, GAP = 350, 40

# Told apart by colour-blind people, too, on white and on black
COLOURS = {"pglz": "#0072b2", "lz4": "#56b4e9", "external": "#cc79a7",
           "toaster": "#d55e00"}
GREY = "#808080"

LINES = (("key1", ""), ("key2 -> middle", "5 3"))

PANELS = (("keys", "documents of zeros"),
          ("records", "documents of records that differ"))


def _lines(results):
    """(variant, dash, points) of a panel."""
    return [(variant, dash, [
        (result["flat"], report_documents.microseconds(result, variant))
        for result in results
        if result["label"] == label and result.get("step", 1)])
        for label, dash in LINES for variant in VARIANTS]


class Axis:
    """A logarithmic axis."""

    MARGIN = 0.1                # decades

    def __init__(self, numbers, start, end):
        self.low = math.log10(min(numbers)) - self.MARGIN
        self.high = math.log10(max(numbers)) + self.MARGIN
        self.start = start
        self.end = end

    def place(self, number):
        share = (math.log10(number) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def decades(self):
        return [10.0 ** power for power in range(math.ceil(self.low),
                                                 math.floor(self.high) + 1)]


def text(x, y, words, anchor="start", extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>'
            f"{words}</text>")


def line(x1, y1, x2, y2, colour, width=1.0, dash=""):
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width}"{dashes}/>')


def us_name(count):
    if count >= 1000:
        return f"{count / 1000:g} ms"
    return f"{count:g} us"


def axes(x, y, name=None):
    """Both axes and their grid; numbers at y if there is a name for them."""
    parts = []
    parts.append(f'<rect x="{x.start}" y="{y.end}" '
                 f'width="{x.end - x.start}" height="{y.start - y.end}" '
                 f'fill="none" stroke="{GREY}" stroke-width="0.6"/>')
    for size in x.decades():
        at = x.place(size)
        parts.append(line(at, y.start, at, y.end, GREY, 0.3))
        parts.append(text(at, y.start + 18, values.size_name(int(size)),
                          "middle"))
    for time in y.decades():
        at = y.place(time)
        parts.append(line(x.start, at, x.end, at, GREY, 0.3))
        if name:
            parts.append(text(x.start - 8, at + 4, name(time), "end"))
    return parts


def curve(points, x, y, colour, dash):
    path = " ".join(f"{x.place(size):.1f},{y.place(time):.1f}"
                    for size, time in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" '
             f'stroke-width="2"{dashes}/>']
    fill = "none" if dash else colour
    parts += [f'<circle cx="{x.place(size):.1f}" cy="{y.place(time):.1f}" '
              f'r="3" fill="{fill}" stroke="{colour}"/>'
              for size, time in points]
    return parts


def legend(x, shown, lines):
    """What the colours of the variants and the dashes of the lines mean."""
    parts = []
    at = TOP + 40
    left = x.end + 14
    for variant in shown:
        parts.append(line(left, at - 4, left + 22, at - 4,
                          COLOURS[variant], 3))
        parts.append(text(left + 28, at, TITLES[variant]))
        at += 20
    at += 10
    for label, dash in lines:
        parts.append(line(left, at - 4, left + 22, at - 4, GREY, 2, dash))
        parts.append(f'<circle cx="{left + 11}" cy="{at - 4}" r="3" '
                     f'fill="{"none" if dash else GREY}" stroke="{GREY}"/>')
        parts.append(text(left + 28, at, label.replace(">", "&gt;")))
        at += 20
    return parts


def head(title):
    return ['<svg xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
            f'font-size="13" fill="{GREY}">',
            text(LEFT, 26, title,
                 extra=' font-size="16" font-weight="bold"')]


def draw(result):
    """The SVG of a result of the benchmarks."""
    parts = result["suites"].get("documents", {})
    panels = [(title, _lines(parts[part])) for part, title in PANELS
              if parts.get(part)]
    if not panels:
        raise ValueError("there are no reads of keys in this result")
    every = [point for _, lines in panels for _, _, points in lines
             for point in points]
    y = Axis([time for _, time in every], HEIGHT - BOTTOM, TOP)
    drawn = head("Time to read one key or element of a jsonb document, "
                 "by the size of the document")
    for number, (title, lines) in enumerate(panels):
        left = LEFT + number * (PANEL + GAP)
        x = Axis([size for size, _ in every], left, left + PANEL)
        drawn.append(text(left + PANEL / 2, TOP - 14, title, "middle"))
        drawn += axes(x, y, us_name if number == 0 else None)
        for variant, dash, points in lines:
            drawn += curve(points, x, y, COLOURS[variant], dash)
    return "\n".join([*drawn, *legend(x, VARIANTS, LINES), "</svg>"]) + "\n"
