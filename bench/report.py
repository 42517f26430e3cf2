"""report.py: the results of the benchmarks as Markdown.

Works on what bench.py writes, so that an old result can be printed again.
Every table gives the medians and their ratio, toaster to heap.  The spread is
the larger one of heap's and toaster's; a ratio in bold is a loss that is larger
than the spread, and than five per cent.
"""

import report_documents
import report_edits
import report_pieces
import values
from measure import (AMS, format_bytes, format_ms, format_ratio, median,
                     median_range, spread)
from report_documents import table

LOSS = 0.05


def _field(result, name):
    """heap's and toaster's samples of one field."""
    return [[sample[name] for sample in result[am]] for am in AMS]


def _noise(*lists):
    return max((found for found in map(spread, lists) if found is not None),
               default=0)


def _spread_cell(*lists):
    return "-" if spread(lists[0]) is None else f"{_noise(*lists) * 100:.0f} %"


def _ratio(heap, toaster, more_is_better=False):
    """The ratio of the medians, in bold if it is a loss."""
    middles = [median(heap), median(toaster)]
    ratio = format_ratio(middles[1], middles[0])
    change = middles[1] / middles[0] - 1 if middles[0] else 0
    if more_is_better:
        change = -change
    return f"**{ratio}**" if change > max(LOSS, _noise(heap, toaster)) \
        else ratio


def _cells(heap, toaster, shape):
    return [shape(median(heap)), shape(median(toaster)),
            _ratio(heap, toaster)]


TIME_HEAD = ("heap", "toaster", "ratio", "CPU ratio", "spread")


def _time_cells(result):
    """For TIME_HEAD: times, their ratio, that of CPU times and its spread."""
    wall, cpu = (_field(result, name) for name in ("milliseconds", "cpu_ms"))
    return [*_cells(*wall, format_ms), _ratio(*cpu),
            _spread_cell(*cpu)]


def _execution_cells(samples):
    """Times alone: the CPU time has the parsing of the new value in it."""
    wall = _field(samples, "milliseconds")
    return [*_cells(*wall, format_ms), _spread_cell(*wall)]


def _named(name, head):
    return [f"{name}: {head[0]}", *head[1:]]


def _values(results):
    head = ["rows x size", *_named("INSERT", TIME_HEAD),
            *_named("SELECT", TIME_HEAD), *_named("stored", TIME_HEAD[:3])]
    lines = []
    for kind in values.KINDS:
        rows = []
        for result in results:
            if result["kind"] != kind:
                continue
            insert, select = ({am: result[am][what] for am in AMS}
                              for what in ("insert", "select"))
            stored = [[result[am]["stored"]] for am in AMS]
            rows.append([
                f"{result['rows']} x {values.size_name(result['size'])}",
                *_time_cells(insert), *_time_cells(select),
                *_cells(*stored, format_bytes)])
        if rows:
            lines += [f"**{kind}**", "", *table(head, rows)]
    return lines


def _slices(results):
    rows = [[f"{result['case']}, {values.size_name(result['size'])}, "
             f"{result['place']}", *_time_cells(result)]
            for result in results]
    return table(["100 bytes of", *TIME_HEAD], rows)


def _updates(results):
    head = ["", *_named("time", ("heap", "toaster", "ratio", "spread")),
            *_named("WAL", TIME_HEAD[:3]), *_named("buffers", TIME_HEAD[:3])]
    lines = []
    for when, title in (("first", "the first update of a row, as loaded"),
                        ("last", "the fifth update of a row")):
        rows = []
        for result in results:
            samples = {am: result[am][when] for am in AMS}
            label = (f"{result['kind']} of "
                     f"{values.size_name(result['size'])}: {result['how']}")
            if result["images"]:
                label += ", with full-page images"
            rows.append([label, *_execution_cells(samples),
                         *_cells(*_field(samples, "wal"), format_bytes),
                         *_cells(*_field(samples, "buffers"),
                                 "{:.0f}".format)])
        lines += [f"**{title}**", "", *table(head, rows)]
    return lines


def _paired_cells(heap, toaster, more_is_better=False):
    """The ratio of each round's runs: its median and the bounds of that, in
    bold if they say that it is a loss."""
    ratios = [new / old for old, new in zip(heap, toaster)]
    low, high = median_range(ratios)
    ratio = f"{median(ratios):.3f}x"
    if high < 1 if more_is_better else low > 1:
        ratio = f"**{ratio}**"
    return [ratio, f"{low:.3f}x to {high:.3f}x"]


def _pgbench(results):
    rows = []
    for result in results:
        rate = _field(result, "tps")
        cpu = _field(result, "cpu_ms")
        rows.append([result["script"],
                     *(f"{median(samples):,.0f}" for samples in rate),
                     *_paired_cells(*rate, more_is_better=True),
                     *(format_ms(median(samples)) for samples in cpu),
                     *_paired_cells(*cpu)])
    return ["Ratios of runs that follow each other; the median of these is "
            "within the bounds with a probability of 95 %.", "",
            *table(["", "per second: heap", "toaster", "ratio", "bounds",
                     "CPU each: heap", "toaster", "ratio", "bounds"], rows)]


def _signed(count):
    return ("-" if count < 0 else "") + format_bytes(abs(count))


def _memory(results):
    rows = []
    for result in results:
        peaks = [median(result[am]) for am in AMS]
        rows.append([f"{result['kind']} of "
                     f"{values.size_name(result['size'])}: "
                     f"{result['operation']}", *map(format_bytes, peaks),
                     *(_signed(peak - result["flat"]) for peak in peaks)])
    return table(["", "peak: heap", "toaster",
                   "beyond one flat copy: heap", "toaster"], rows)


SECTIONS = (("values", "Whole values", _values),
            ("slices", "A few bytes of a value", _slices),
            ("updates", "UPDATE with a flat new value", _updates),
            ("documents", "Documents and parts of them",
             report_documents.section),
            ("edits", "Edits of documents", report_edits.section),
            ("pieces", "Pieces of bytea", report_pieces.section),
            ("pgbench", "pgbench", _pgbench),
            ("memory", "Peak memory", _memory))


def render(result):
    """The Markdown of a result."""
    machine = result["machine"]
    lines = [
        "# heap and toaster side by side", "",
        f"PostgreSQL {result['server_version']}; pg_toaster at "
        f"{result['commit']}{' with changes' if result['changed'] else ''}; "
        f"{machine['cpus']} CPUs, {machine['memory_gb']} GB; "
        f"{result['date']}.", "",
        "Settings: " + ", ".join(f"{name} = {value}" for name, value
                                 in result["settings"].items()) + ".", "",
        "Medians. ratio: toaster to heap; CPU ratio: of the CPU time of the "
        "backends; spread: half the distance between the quartiles of the CPU "
        "time (without it: of the time), as a part of the median; bold: a loss larger than the spread "
        "and than 5 %.",
        ""]
    for name, title, section in SECTIONS:
        if name in result["suites"]:
            lines += [f"## {title}", "", *section(result["suites"][name])]
    return "\n".join(lines)
