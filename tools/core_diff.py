#!/usr/bin/env python3
"""Judge runs of PostgreSQL's regression suite on our tables.

    core_diff.py DIR heap RUN ...            judge, exit 1 on a failure
    core_diff.py --accept DIR heap RUN ...   and store what differs

DIR/RUN holds the results of a run (tools/core-suite).  A test passes when its
output is that of the heap run, or one that the suite itself expects, or
differs from heap's by exactly what test/core/expected/TEST.diff says
(TEST.RUN.diff, where there is one, for that run alone; TEST.1.diff, ... are
alternatives).  Each stored difference has its reason in test/core/README.md.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent / "test" / "core"
EXPECTED = HERE / "expected"
SHOWN = 40      # lines of an unexpected difference that are printed

# "test foo ... ok", " foo ... FAILED" (15); "ok 1 - foo" (16 on)
OLD = re.compile(r"^(?:test|\s)\s*(\S+)\s+\.\.\. (ok|FAILED|failed)", re.M)
NEW = re.compile(r"^(ok|not ok) \d+\s+[-+] (\S+)", re.M)


def outcomes(directory):
    """Test name -> whether pg_regress was satisfied."""
    log = (directory / "log").read_text(errors="replace")
    found = {name: word == "ok" for name, word in OLD.findall(log)}
    found.update((name, word == "ok") for word, name in NEW.findall(log))
    return found


def difference(heap, ours, test):
    """The normalised difference of a test's two outputs."""
    files = [d / "results" / (test + ".out") for d in (heap, ours)]
    if not files[1].exists():
        return "no output\n"
    run = subprocess.run(["diff", "-U2", *files], capture_output=True)
    lines = run.stdout.decode(errors="replace").splitlines()[2:]
    lines = ["@@" if line.startswith("@@ ") else
             re.sub(r"pg_toast_\d+", "pg_toast_OID", line) for line in lines]
    return "".join(line + "\n" for line in lines)


def accepted(test, run):
    """The stored differences that a test may show in a run."""
    paths = sorted(EXPECTED.glob(f"{test}.{run}.diff"))
    if not paths:
        paths = sorted(EXPECTED.glob(f"{test}.diff"))
        paths += sorted(EXPECTED.glob(f"{test}.[0-9].diff"))
    return {path: path.read_text() for path in paths}


def judge(heap, ours, run, accept):
    """Counts of (passed, failed, listed) of one run, after printing why."""
    passed = failed = listed = 0
    reference = outcomes(heap)
    for test, satisfied in outcomes(ours).items():
        found = difference(heap, ours, test)
        if not found or (satisfied and reference.get(test)):
            passed += 1
        elif found in accepted(test, run).values():
            passed += 1
            listed += 1
        else:
            failed += 1
            print(f"{run}: {test}: differs from heap")
            lines = found.splitlines()
            print("\n".join("    " + line for line in lines[:SHOWN]))
            if len(lines) > SHOWN:
                print(f"    ... {len(lines) - SHOWN} more lines")
            if accept:
                EXPECTED.mkdir(exist_ok=True)
                clash = EXPECTED / f"{test}.diff"
                name = f"{test}.{run}.diff" if clash.exists() else clash.name
                (EXPECTED / name).write_text(found)
    for test in sorted(set(reference) - set(outcomes(ours))):
        failed += 1
        print(f"{run}: {test}: did not run")
    return passed, failed, listed


def sound(ours, run):
    """Whether the tables that the run left behind are sound."""
    problems = (ours / "verify").read_text(errors="replace")
    if problems:
        print(f"{run}: what the suite left behind is not sound")
        print("\n".join("    " + p for p in problems.splitlines()[:SHOWN]))
    return not problems


def unexplained():
    """Stored differences that the README does not speak of."""
    readme = HERE / "README.md"
    text = readme.read_text() if readme.exists() else ""
    names = {path.name.split(".")[0] for path in EXPECTED.glob("*.diff")}
    return sorted(n for n in names if f"`{n}`" not in text)


def main(arguments):
    accept = arguments[:1] == ["--accept"]
    directory = pathlib.Path(arguments[accept])
    runs = [run for run in arguments[accept + 1:] if run != "heap"]
    heap = directory / "heap"
    reference = outcomes(heap)
    differing = sorted(t for t, satisfied in reference.items() if not satisfied)
    print(f"heap: {len(reference)} tests")
    if differing:
        print("heap itself differs from what the suite expects in:",
              " ".join(differing))
    total_passed = total_failed = 0
    if not reference or len(differing) > len(reference) // 10:
        print("heap: the baseline is no baseline")
        print((heap / "log").read_text(errors="replace")[-2000:])
        total_failed += 1
    for run in runs:
        passed, failed, listed = judge(heap, directory / run, run, accept)
        failed += not sound(directory / run, run)
        passed += sound(directory / run, run)
        print(f"{run}: {passed} passed ({listed} with a listed difference),"
              f" {failed} failed")
        total_passed += passed
        total_failed += failed
    for test in unexplained():
        print(f"test/core/README.md gives no reason for {test}")
        total_failed += 1
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
