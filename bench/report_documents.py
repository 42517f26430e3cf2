"""report_documents.py: the results of the suite documents as Markdown.

Each goal stands beside what is measured against it.  Bold: toaster misses the
goal or, where there is none, takes more than heap with lz4 by more than the
spread and than five per cent.
"""

import values
from measure import format_bytes, format_ms, format_ratio, median, spread
from variants import TITLES, VARIANTS

LOSS = 0.05

HEADS = [TITLES[variant] for variant in VARIANTS]

# Microseconds per operator on documents of 40 kB and more
KEY_GOALS = {"key1": 0.5, "key3": 0.5, "key2 -> 0": 2, "key2 -> middle": 2,
             "key2 -> -1": 2, "key4 -> 0": 2}
KEY_GOAL_FROM = 50
RECORDS_GOAL_FROM = 40000
# The slowest of these documents to the fastest one
GROWTH_GOAL = 2
INLINE_GOAL = 1.05
DEPTH_GOAL_US = 5
CURSE_GOAL_BUFFERS = 2600
CURSE_GOAL_TIME = 1.2
SCAN_GOAL = 5


def table(head, rows):
    aligned = [":--" if number == 0 else "--:" for number in range(len(head))]
    return ["| " + " | ".join(cells) + " |"
            for cells in (head, aligned, *rows)] + [""]


def middle(samples, field="milliseconds"):
    return median([sample[field] for sample in samples])


def microseconds(result, variant):
    """Of one operator."""
    return middle(result[variant]) * 1000 / result["operators"][variant]


def format_us(count):
    return f"{count:,.0f}" if count >= 100 else \
        f"{count:.1f}" if count >= 10 else f"{count:.2f}"


def judge(text, met):
    """The cell of toaster's number."""
    return text if met else f"**{text}**"


def _goal(result):
    if result["step"] == 1:
        # In the row, and not compressed: all heaps are the same.
        return INLINE_GOAL * median([microseconds(result, variant)
                                     for variant in VARIANTS[:3]])
    return KEY_GOALS[result["label"]] if result["step"] >= KEY_GOAL_FROM \
        else None


def _size(result):
    return values.size_name(result["flat"])


def _flattened(results):
    """A remark on documents that were read whole."""
    found = [f"{_size(result)}: {result['label']}" for result in results
             if result["flattened"]]
    return ["Read whole documents: " + "; ".join(found) + ".", ""] if found \
        else ["No document of the toaster table was read whole "
              "(`documents_flattened` in `toaster.stats`).", ""]


def _operator_rows(results, goal_of):
    rows = []
    for result in results:
        cells = [microseconds(result, variant) for variant in VARIANTS]
        goal = goal_of(result)
        met = cells[3] <= goal if goal else cells[3] <= cells[1]
        rows.append([
            f"{_size(result)}: `{result['label']}`",
            *(format_us(cell) for cell in cells[:3]),
            judge(format_us(cells[3]), met),
            format_ratio(cells[3], cells[1]),
            f"{goal:.2g}" if goal else "-"])
    return rows


OPERATOR_HEAD = ["microseconds", *HEADS, "to lz4", "goal"]


def _growth_rows(results):
    rows = []
    for label in KEY_GOALS:
        found = [microseconds(result, "toaster") for result in results
                 if result["label"] == label
                 and result["step"] >= KEY_GOAL_FROM]
        if len(found) > 1:
            growth = max(found) / min(found)
            rows.append([f"`{label}`", format_us(min(found)),
                         format_us(max(found)),
                         judge(f"{growth:.2f}x", growth <= GROWTH_GOAL),
                         f"{GROWTH_GOAL}x"])
    return rows


def _loop_rows(results):
    rows = []
    for result in results:
        if "loop" in result:
            cells = [median(result["loop"][variant]) * 1000
                     for variant in VARIANTS]
            rows.append([f"{_size(result)}: `{result['label']}`",
                         *map(format_us, cells),
                         format_ratio(cells[3], cells[1])])
    return rows


def _inline_rows(results):
    rows = []
    for result in results:
        cells = [middle(result[variant], "cpu_ms") * 1000
                 for variant in VARIANTS]
        # They differ by nothing here but the noise.
        stock = median(cells[:3])
        rows.append([f"`{result['label']}`",
                     *(f"{cell:.3f}" for cell in cells[:3]),
                     judge(f"{cells[3]:.3f}", cells[3] <=
                            stock * INLINE_GOAL),
                     f"{cells[3] / stock:.3f}x", f"{INLINE_GOAL}x"])
    return rows


def _keys(results):
    steps = [result for result in results if result["step"]]
    inline = [result for result in results if not result["step"]]
    return ["Many operators in one SELECT on one row, per operator, with the "
            "start of the statement. PostgreSQL keeps what each operator "
            "decompressed until the row is done: with large documents much of "
            "heap's time goes into fresh memory.", "",
            *table(OPERATOR_HEAD, _operator_rows(steps, _goal)),
            *_flattened(steps),
            "The slowest and the fastest document from 40 kB on:", "",
            *table(["toaster, microseconds", "fastest", "slowest", "ratio",
                    "goal"], _growth_rows(steps)),
            "One operator in a loop over rows, CPU time less that of the loop: "
            "memory is used again, nothing starts.", "",
            *table(["microseconds", *HEADS, "to lz4"], _loop_rows(steps)),
            "CPU time of `count(operator)` over the smallest documents, which "
            "are in the row, per row; ratio to the median of the three:", "",
            *table(["microseconds", *HEADS, "to heap", "goal"],
                   _inline_rows(inline))]


def _records(results):
    return [*table(OPERATOR_HEAD, _operator_rows(
                results, lambda result: KEY_GOALS.get(result["label"])
                if result["flat"] >= RECORDS_GOAL_FROM else None)),
            *_flattened(results)]


def _touch(results):
    rows, sessions = [], []
    for result in results:
        label = f"{_size(result)}: `{result['label']}`"
        cells = [middle(result["samples"][variant]) * 1000 / result["rows"]
                 for variant in VARIANTS]
        rows.append([label, *map(format_us, cells),
                     format_ratio(cells[3], cells[1])])
        if "session" in result:
            cells = [middle(result["session"][variant])
                     for variant in VARIANTS]
            sessions.append([label, *map(format_ms, cells),
                             format_ratio(cells[3], cells[1])])
    return ["One operator on each of many rows, per row:", "",
            *table(["microseconds", *HEADS, "to lz4"], rows),
            "The first statement of a session, planning and the reading of "
            "catalogs included:", "",
            *table(["", *HEADS, "to lz4"], sessions)]


def _depth(results):
    return [*table(OPERATOR_HEAD,
                   _operator_rows(results, lambda _: DEPTH_GOAL_US)),
            *_flattened(results)]


def _curse(results):
    rows = []
    before = middle(results[0]["toaster"], "cpu_ms")
    for result in results:
        times = [middle(result[variant], "cpu_ms")
                 for variant in ("external", "toaster")]
        buffers = [middle(result[variant], "buffers")
                   for variant in ("external", "toaster")]
        growth = times[1] / before
        rows.append([
            result["stage"], f"{buffers[0]:,.0f}",
            judge(f"{buffers[1]:,.0f}", buffers[1] <= CURSE_GOAL_BUFFERS),
            f"{CURSE_GOAL_BUFFERS:,}", *map(format_ms, times),
            judge(f"{growth:.2f}x", growth <= CURSE_GOAL_TIME),
            f"{CURSE_GOAL_TIME}x",
            *(format_bytes(result["stored"][variant])
              for variant in ("external", "toaster"))])
    return table(["`SELECT doc->'id'`", "buffers: heap EXTERNAL",
                  "toaster EXTERNAL", "goal", "CPU time: heap EXTERNAL",
                  "toaster EXTERNAL", "toaster to its before", "goal",
                  "stored: heap EXTERNAL", "toaster EXTERNAL"], rows)


def _scan(results):
    lines = []
    for result in results:
        rows = []
        for name, field, shape in (
                ("time", "milliseconds", format_ms),
                ("CPU time", "cpu_ms", format_ms),
                ("buffers", "buffers", "{:,.0f}".format)):
            cells = [middle(result[variant], field) for variant in VARIANTS]
            faster = cells[1] / cells[3]
            goal = field != "buffers"
            rows.append([name, *map(shape, cells),
                         judge(f"{faster:.1f}", not goal or
                                faster >= SCAN_GOAL),
                         str(SCAN_GOAL) if goal else "-"])
        stored = [result["stored"][variant] for variant in VARIANTS]
        rows.append(["stored", *map(format_bytes, stored),
                     f"{stored[1] / stored[3]:.1f}", "-"])
        lines += table([f"{result['rows']:,} documents", *HEADS,
                        "lz4 to toaster", "goal"], rows)
    return lines


def _paths(results):
    return [*table(OPERATOR_HEAD, _operator_rows(results, lambda _: None)),
            *_flattened(results)]


def _compared(heap, toaster, loss):
    """toaster to heap with lz4."""
    ratio = format_ratio(toaster, heap)
    return f"**{ratio}**" if toaster / heap - 1 > loss else ratio


def _whole_cells(result, name):
    samples = [[sample["cpu_ms"] for sample in result[name][variant]]
               for variant in VARIANTS]
    cells = [median(found) for found in samples]
    noise = max(spread(found) or 0 for found in (samples[1], samples[3]))
    return [*(format_ms(cell / result["rows"]) for cell in cells),
            _compared(cells[1], cells[3], max(LOSS, noise))]


def _whole(results):
    lines = ["CPU time of each document; ratio: toaster to heap lz4, goal "
             "1.", ""]
    for name, title in (("text", "INSERT, from text"),
                        ("copy", "INSERT .. SELECT"),
                        ("select", "SELECT")):
        lines += table([title, *HEADS, "to lz4"],
                       [[_whole_label(result), *_whole_cells(result, name)]
                        for result in results])
    rows = []
    for result in results:
        stored = [result["stored"][variant] for variant in VARIANTS]
        rows.append([_whole_label(result), *map(format_bytes, stored),
                     _compared(stored[1], stored[3], 0)])
    return lines + table(["stored", *HEADS, "to lz4"], rows)


def _whole_label(result):
    return (f"{result['kind']}: {result['rows']} x "
            f"{values.size_name(result['flat'])}")


PARTS = (("keys", "Keys and elements", _keys),
         ("records", "Keys and elements of records", _records),
         ("touch", "What nobody has read before", _touch),
         ("depth", "Ten levels down", _depth),
         ("curse", "10 000 documents of 2 kB become longer", _curse),
         ("scan", "Four keys of every document", _scan),
         ("paths", "Paths and functions", _paths),
         ("whole", "Whole documents", _whole))


def section(results):
    lines = ["heap lz4 and EXTERNAL: storage of the column. Bold: a goal that "
             "is missed or, without one, more than heap lz4.", ""]
    for part, title, render in PARTS:
        if results.get(part):
            lines += [f"### {title}", "", *render(results[part])]
    return lines
