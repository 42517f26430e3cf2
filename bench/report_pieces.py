"""report_pieces.py: the suite `pieces` as Markdown."""

from measure import format_bytes, format_ms, median
from report_documents import table
from suite_pieces import VARIANTS
from variants import TITLES


def _operations(results):
    rows = []
    for result in results:
        cells = [f"{format_bytes(result['size'])}: {result['operation']}"]
        for field, shape in (("milliseconds", format_ms),
                             ("wal", format_bytes)):
            cells += [shape(median([sample[field]
                                    for sample in result[variant]]))
                      for variant in VARIANTS]
        worst = max(sample["wal"] for sample in result["toaster"])
        mean = sum(sample["wal"] for sample in result["toaster"]) / \
            len(result["toaster"])
        rows.append(cells + [format_bytes(mean), format_bytes(worst)])
    titles = [TITLES[variant] for variant in VARIANTS]
    return table(["", *(f"time: {title}" for title in titles),
                   *(f"WAL: {title}" for title in titles),
                   "toaster's mean", "its most"], rows)


def _growth(results):
    rows = []
    for result in results:
        for variant, grown in result["grown"].items():
            total = result["total"] if variant == "toaster" else \
                result["heap_total"]
            both = [grown["front"], grown["last"]]
            size = sum(part["bytes"] for part in both)
            rate = [part["bytes"] / part["seconds"] / 1e6 for part in both]
            rows.append([f"{format_bytes(total)} by "
                         f"{format_bytes(result['piece'])}",
                         TITLES[variant],
                         f"{sum(part['wal'] for part in both) / size:.2f}x",
                         f"{rate[0]:.2f} MB/s", f"{rate[1]:.2f} MB/s",
                         f"{grown['size'] / size:.2f}x"])
    return table(["growing to", "", "WAL, of the bytes appended",
                   "first nine tenths", "last tenth",
                   "table, of the value"], rows)


def section(results):
    return ["Random bytes; WAL without full-page images.", "",
            *_operations([result for result in results
                          if "operation" in result]),
            *_growth([result for result in results if "grown" in result])]
