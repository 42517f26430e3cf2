"""report_edits.py: the results of the suite edits as Markdown.

Each goal stands beside what is measured against it.  Bold: toaster misses the
goal or, where there is none, takes more than heap with lz4 by more than the
spread and than five per cent.
"""

import values
from edit_workloads import EDITED
from measure import (format_bytes, format_count, format_ms, format_ratio,
                     median, spread)
from report_documents import LOSS, judge, table
from variants import TITLES

HEADS = [TITLES[variant] for variant in EDITED]

# Milliseconds and bytes of WAL of a statement, from GOAL_FROM bytes on
KEY_GOAL = (0.08, 400)
ELEMENT_GOAL = (0.1, 500)
GOAL = (0.2, 1000)
GOALS = {"key, same length": KEY_GOAL, "key, other length": KEY_GOAL,
         "element": ELEMENT_GOAL, "insert into array": GOAL,
         "delete from array": GOAL, "append to array": GOAL,
         "delete last": GOAL, "new key": GOAL, "removed key": GOAL,
         "value of 1 kB": GOAL, "short again": GOAL}
GOAL_FROM = 40000
# The largest of the sizes from there on to the smallest one
GROWTH_GOAL = 2

REMOVAL_GOALS = {"time": 1 / 20, "WAL": 1 / 30, "growth": 0.1}
ORM_GOAL = 1 / 20
# Bytes of WAL: a document of zeros is in heap's row.
ORM_GOAL_FROM = 10000
STEADY_GOAL = 1.2


def _lost(new, old):
    """Whether toaster's samples are a loss to heap's."""
    noise = max(spread(new) or 0, spread(old) or 0)
    return median(new) > median(old) * (1 + max(LOSS, noise))


def _later(result, variant, field):
    """The samples of a field after the first edit of the document."""
    return [sample[field] for sample in result["samples"][variant][1:]]


def _loop(result, variant, field):
    return [loop[field][result["index"]]
            for loop in result["loops"][variant]]


def _loop_cpu(result, variant):
    """Of each of the operations of the loop, on average."""
    return [loop["cpu_ms"] / result["loop_of"]
            for loop in result["loops"][variant]]


def _goal(result, which):
    if result["flat"] < GOAL_FROM:
        return None
    return GOALS.get(result["label"], (None, None))[which]


def _size_row(result, field, which, shape):
    samples = [_later(result, variant, field) for variant in EDITED]
    middles = [median(each) for each in samples]
    goal = _goal(result, which)
    met = middles[2] <= goal if goal else not _lost(samples[2], samples[1])
    return [f"{values.size_name(result['flat'])}: {result['label']}",
            *map(shape, middles[:2]), judge(shape(middles[2]), met),
            format_ratio(middles[2], middles[1]),
            shape(goal) if goal else "-"]


def _loop_cells(loops, shape):
    return [*(shape(median(each)) for each in loops),
            judge(format_ratio(median(loops[1]), median(loops[0])),
                  not _lost(loops[1], loops[0]))]


def _time_row(result):
    cpu = [_loop_cpu(result, variant) for variant in EDITED[1:]]
    return [*_size_row(result, "milliseconds", 0, format_ms),
            *(_loop_cells(cpu, format_ms) if result["index"] == 0
              else ['"'] * 3)]


def _wal_row(result):
    first = [result["samples"][variant][0]["wal"] for variant in EDITED[1:]]
    loops = [_loop(result, variant, "wal") for variant in EDITED[1:]]
    return [*_size_row(result, "wal", 1, format_bytes),
            *_loop_cells(loops, format_bytes), *map(format_bytes, first)]


def _growth_row(results, label):
    cells = [f"{label}"]
    for field, shape in (("milliseconds", format_ms), ("wal", format_bytes)):
        found = [median(_later(result, "toaster", field))
                 for result in results if result["label"] == label
                 and result["flat"] >= GOAL_FROM]
        growth = max(found) / min(found)
        cells += [shape(min(found)), shape(max(found)),
                  judge(f"{growth:.2f}x", growth <= GROWTH_GOAL)]
    return cells


def _flattened(results):
    found = [result for result in results
             if result["counters"].get("documents_flattened")
             or result["counters"].get("edits_flattened")]
    if not found:
        return ["No document was read whole, and no edit flattened "
                "(`toaster.stats`).", ""]
    return ["Documents were read whole, or edits flattened: " + "; ".join(
        f"{result['kind']} of {values.size_name(result['flat'])}: "
        f"{result['label']}" for result in found) + ".", ""]


def _sizes(results):
    head = ["", *HEADS, "to lz4", "goal"]
    cpu, wal = ([f"{what} in a loop: heap lz4", "toaster", "to lz4"]
                for what in ("CPU time", "WAL"))
    lines = ["Time is that of execution, of one statement; WAL that of the "
             "statement. In a loop each statement is committed, and the "
             "numbers are means, with the commit and whatever is done now and "
             "then; CPU time is the mean of the operations that a loop "
             "alternates between.", "", *_flattened(results)]
    for kind in dict.fromkeys(result["kind"] for result in results):
        chosen = [result for result in results if result["kind"] == kind]
        labels = [label for label in GOALS if any(
            result["label"] == label and result["flat"] >= GOAL_FROM
            for result in chosen)]
        lines += [f"**Documents of {kind}: time**", "",
                  *table([*head, *cpu], map(_time_row, chosen)),
                  f"**Documents of {kind}: WAL**", "",
                  *table([*head, *wal, "first edit: heap lz4", "toaster"],
                         map(_wal_row, chosen)),
                  f"**Documents of {kind}, from {GOAL_FROM // 1000} kB on: "
                  "the least and the most by size**", "",
                  *table(["toaster", "time", "to", "growth", "WAL", "to",
                          "growth"], [_growth_row(chosen, label)
                                      for label in labels])]
    return lines


def _all_pages(pages):
    return sum(pages.values())


def _growth(samples):
    return median([_all_pages(sample["after"]) / _all_pages(sample["before"])
                   - 1 for sample in samples])


def _table_rows(result, goals):
    """Time, WAL and growth of a table by one UPDATE of many rows."""
    rows = []
    for name, field, shape in (("time", "milliseconds", format_ms),
                               ("CPU time", "cpu_ms", format_ms),
                               ("WAL", "wal", format_bytes)):
        cells = [[sample[field] for sample in result[variant]]
                 for variant in EDITED]
        goal = goals.get(name)
        middles = list(map(median, cells))
        met = [middles[2] <= middles[number] * goal if goal
               else number == 0 or not _lost(cells[2], cells[number])
               for number in (0, 1)]
        rows.append([name, *map(shape, middles),
                     *(judge(format_ratio(middles[2], middles[number]),
                             met[number]) for number in (0, 1)),
                     f"{goal:.2g}x" if goal else "-"])
    growth = [_growth(result[variant]) for variant in EDITED]
    goal = goals.get("growth")
    met = growth[2] <= goal if goal else growth[2] <= growth[1] + LOSS
    rows.append(["growth of the table",
                 *(f"{each * 100:.1f} %" for each in growth[:2]),
                 judge(f"{growth[2] * 100:.1f} %", met), "-", "-",
                 f"{goal * 100:.0f} %" if goal else "-"])
    pages = [median([_all_pages(sample["before"])
                     for sample in result[variant]]) for variant in EDITED]
    rows.append(["size before", *(format_bytes(page * 8192)
                                  for page in pages), "-", "-", "-"])
    return rows


def _removal(results):
    lines = []
    for result in results:
        lines += [f"{format_count(result['rows'])} documents of "
                  f"{result['keys']} keys.", "",
                  *table(["", *HEADS, "to pglz", "to lz4", "goal"],
                         _table_rows(result, REMOVAL_GOALS))]
    return lines


def _orm(results):
    rows = []
    for result in results:
        label = f"{result['kind']}: {result['field']}"
        for name, field, shape in (
                ("execution", "milliseconds", format_ms),
                ("statement", "statement_ms", format_ms),
                ("its CPU time", "statement_cpu_ms", format_ms),
                ("WAL", "wal", format_bytes)):
            cells = [[sample[field] for sample in result[variant]
                      [len(result[variant]) // 4:]] for variant in EDITED]
            middles = list(map(median, cells))
            goal = ORM_GOAL if name == "WAL" and middles[1] >= ORM_GOAL_FROM \
                else None
            met = middles[2] <= middles[1] * goal if goal \
                else not _lost(cells[2], cells[1])
            rows.append([f"{label}: {name}", *map(shape, middles),
                         judge(format_ratio(middles[2], middles[1]), met),
                         f"{goal:.2g}x" if goal else "1x"])
    return ["A document of 100 kB. The statement contains sending and parsing "
            "the text; execution and WAL are of the UPDATE alone.", "",
            *table(["", *HEADS, "to lz4", "goal"], rows)]


def _part_cells(parts, field, shape):
    found = [part[field] for part in parts]
    return f"{shape(found[0])}, {shape(found[-1])}"


def _steady(results):
    rows = []
    reads = []
    for result in results:
        for variant in EDITED:
            found = result[variant]
            label = (f"{result['kind']}, {values.size_name(result['size'])}: "
                     f"{result['label']}, {TITLES[variant]}")
            before, after = (_all_pages(found[when])
                             for when in ("before", "after"))
            ratio = f"{after / before:.2f}x"
            rows.append([
                label, format_count(found["count"]),
                format_ms(sum(part["milliseconds"] for part in found["parts"])
                          / len(found["parts"])),
                _part_cells(found["parts"], "milliseconds", format_ms),
                format_bytes(sum(part["wal"] for part in found["parts"])
                             / len(found["parts"])),
                _part_cells(found["parts"], "wal", format_bytes),
                format_count(before), format_count(after),
                judge(ratio, variant != "toaster"
                      or after <= before * STEADY_GOAL),
                str(found["autovacuums"])])
            reads.append([label, *(
                f"{format_ms(found['reads_before'][read])}, "
                f"{format_ms(found['reads_after'][read])}"
                for read in found["reads_before"])])
    return ["Edits of one document, each committed, autovacuum every second. "
            "Means of all, and of the first and of the last tenth. Pages of "
            "the table, its TOAST relation and the index of that.", "",
            *table(["", "edits", "time", "first, last", "WAL", "first, last",
                    "pages before", "after", "ratio", "autovacuums"], rows),
            "What reading takes before and after.", "",
            *table(["", "key1", "middle element", "all of it"], reads)]


def _indexes(results):
    rows = []
    for result in results:
        samples = [result[variant][len(result[variant]) // 4:]
                   for variant in EDITED]
        times, wal = ([median([sample[field] for sample in each])
                       for each in samples]
                      for field in ("milliseconds", "wal"))
        counts = [max(sample["counters"].get(name, 0)
                      for sample in samples[2])
                  for name in ("documents_flattened", "edits_flattened",
                               "parts_flattened")]
        allowed = 1 if result["construct"] == "GIN" else 0
        rows.append([
            f"{values.size_name(result['size'])}: {result['construct']}",
            *map(format_ms, times), *map(format_bytes, wal),
            *(judge(str(count), count <= allowed) for count in counts)])
    return ["A key of a document of records is set. The last three columns: "
            "`documents_flattened`, `edits_flattened`, `parts_flattened`, the "
            "most of one statement.", "",
            *table(["", *(f"time: {head}" for head in HEADS),
                    *(f"WAL: {head}" for head in HEADS), "documents", "edits",
                    "parts"], rows)]


def _rows(results):
    lines = []
    for result in results:
        lines += [f"{format_count(result['rows'])} documents of 2 to 4 kB.", "",
                  *table(["", *HEADS, "to pglz", "to lz4", "goal"],
                         _table_rows(result, {}))]
        if "memory" in result:
            lines += ["Peak memory of the backend, beyond what an UPDATE of "
                      "ten rows takes.", "", *table(
                          ["", "a tenth of the rows", "all rows"],
                          [[TITLES[variant], *map(format_bytes, peaks)]
                           for variant, peaks in result["memory"].items()])]
    return lines


PARTS = (("sizes", "One edit, by the size of the document", _sizes),
         ("removal", "A key is removed from documents of 1,000 keys",
          _removal),
         ("orm", "Read, change, write back", _orm),
         ("steady", "Thousands of edits", _steady),
         ("indexes", "Indexes and constraints", _indexes),
         ("rows", "One key of many documents", _rows))


def section(results):
    lines = ["WAL without full-page images (full_page_writes = off). Bold: a "
             "goal that is missed or, without one, more than heap lz4.", ""]
    for part, title, render in PARTS:
        if results.get(part):
            lines += [f"### {title}", "", *render(results[part])]
    return lines
