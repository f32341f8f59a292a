"""rdma-core's own tests, unchanged, on an emulated NIC: each has the result that a list expects.

    run [--efa|--testing] --pyverbs [WORD...]

With words: the tests whose names contain one, with a trace of what fails. The lists, pyverbs-mlx5.tsv, pyverbs-efa.tsv and
pyverbs-mlx5-testing.tsv, have a row for each test that suits the device, with --testing for each of what the libmlx5 of this
machine's release lacks: passed, failed or skipped, and for the last two why; "passed or skipped" where it is a matter of the
machine. A test that passes although it is listed as failed or skipped is an error, too.

Each test of the package, also one for other devices, must have a row in rdma-core-tests.tsv: the test of this project that asks
the same, or the reason why none does.
"""

import collections
import csv
import gzip
import importlib
import json
import os
import pathlib
import random
import re
import select
import signal
import sys
import tempfile
import unittest

# Some tests draw flags and sizes, and are skipped if libefa knows none of the flags. With this seed it knows them.
SEED = 4
# On a quiet machine no test takes five seconds.
STALL_SECONDS = 600
# A test leaves this file, and another user cannot write it.
LEFT = pathlib.Path("/tmp/dump.txt")
# Which test of this project asks the same as each.
TABLE = pathlib.Path(__file__).parent.parent / "test/resources/rdma-core-tests.tsv"
# Modules for devices of other kinds, and for GPUs.
OTHERS = {
    "mlx5": r"test_(efa|irdma|cuda|mlx5_cuda)",
    "mlx5-testing": r"test_(?!buf|dmah|mr\.DeviceMemory)",
    "efa": r"test_(mlx5|irdma|cuda)",
}
GID_INDEX = {"mlx5": "1", "efa": "0"}
# The tests for a device of a confidential machine, which is the third one.
CONFIDENTIAL = re.compile(r"_cc_pd|_on_bounce_device")


def unpack(packed, folder):
    """Debian compresses the larger ones."""
    folder.mkdir()
    for file in packed.iterdir():
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
        (folder / file.name.removesuffix(".gz")).write_bytes(content)


def load(kind, folder):
    """All tests by name. They read from the command line of the process which device they use."""
    device = kind.removesuffix("-testing")
    sys.path[:0] = [str(folder), str(folder / "tests")]
    sys.argv[1:] = ["--dev", f"{device}_0", "--port", "1", "--gid", GID_INDEX[device]]
    importlib.import_module("args_parser").parser.parse_args()
    # An emulated device has no network interface, which some releases ask the kernel for by netlink.
    base = importlib.import_module("tests.base")
    base.RDMATestCase.get_net_name = staticmethod(lambda device, port=None: None)
    # The emulated kernel asks for no privileges.
    os.geteuid = lambda: 0
    tests = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module("tests"))
    return {test.id().removeprefix("tests."): test for test in flatten(tests)}


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def run_here(test, trace):
    """The result of a test and the reason."""
    if CONFIDENTIAL.search(test.id()):
        arguments = sys.modules["args_parser"].parser.args
        arguments["dev"] = arguments["dev"].replace("mlx5_0", "mlx5_2")
    result = unittest.TestResult()
    test.run(result)
    for _, text in result.failures + result.errors:
        if trace:
            print(text, file=sys.stderr, flush=True)
        return "failed", text.strip().splitlines()[-1]
    for _, text in result.skipped:
        return "skipped", text
    return ("passed", "") if result.testsRun == 1 else ("failed", "no test ran")


def run(test, trace):
    """The same in a process of its own, which may die or hang."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        random.seed(SEED)
        result, reason = run_here(test, trace)
        os.write(writer, json.dumps((result, reason[:500])).encode())
        os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], STALL_SECONDS)
    answer = os.read(reader, 1 << 16) if ready else None
    os.close(reader)
    os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if answer is None:
        return "failed", f"hangs: not over after {STALL_SECONDS} seconds"
    return tuple(json.loads(answer)) if answer else ("failed", f"the process died: status {status}")


def without_row(names):
    """The tests that the table does not have, neither by name nor with the rest of their module."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        rows = {row["test"] for row in csv.DictReader((line for line in file if line[0] != "#"), delimiter="\t")}
    for name in sorted(names):
        module, _, test = name.split(".")
        module = module.removeprefix("test_")
        if not rows & {f"{module}.{test.removeprefix('test_')}", f"{module}.*"}:
            yield name


def read_list(path):
    """The release of rdma-core that the list is for, and its rows by test."""
    with open(path, encoding="utf-8", newline="") as file:
        release = re.search(r"rdma-core (\d+)", file.readline()).group(1)
        rows = {row["test"]: row for row in csv.DictReader(file, delimiter="\t")}
    for name, row in rows.items():
        assert row["result"] in ("passed", "failed", "skipped", "passed or skipped"), name
        assert bool(row["reason"]) == (row["result"] != "passed"), f"{name}: a reason if it does not pass"
    return release, rows


def unpacked_release():
    [library] = pathlib.Path(os.environ["VERBENA_NIC_LIBRARIES"]).glob("libibverbs.so.1.*.*.0")
    return library.name.split(".")[4]


def judge(tests, expected, words):
    """Runs the tests; returns how many had each result, how many were skipped for each reason, and what was not expected."""
    counts, reasons, errors = collections.Counter(), collections.Counter(), []
    for name in sorted(tests.keys() | expected.keys()):
        if words and not any(word in name for word in words):
            continue
        result, detail = run(tests[name], bool(words)) if name in tests else ("missing", "")
        listed = expected.get(name, {"result": "not listed", "reason": ""})
        counts[result] += 1
        if result not in listed["result"].split(" or "):
            errors.append(f"{name}: {result}, expected: {listed['result']} {listed['reason']}\n    {detail}")
        elif result == "failed":
            print(f"failed as expected: {name}: {detail}\n    {listed['reason']}")
        elif result == "skipped":
            reasons[listed["reason"]] += 1
        if words:
            print(result, name, detail, sep="\t")
    return counts, reasons, errors


def main(kind, packed, *words):
    expected_release, expected = read_list(pathlib.Path(__file__).parent / f"pyverbs-{kind}.tsv")
    release = unpacked_release()
    if release != expected_release:
        print(f"NOT RUN: rdma-core's tests on {kind}: the list is for rdma-core {expected_release}, here is {release}")
        return 0
    was_there = LEFT.exists()
    with tempfile.TemporaryDirectory() as folder:
        unpack(pathlib.Path(packed), pathlib.Path(folder) / "tests")
        tests = load(kind, pathlib.Path(folder))
        suitable = {name: test for name, test in tests.items() if not re.match(OTHERS[kind], name)}
        counts, reasons, errors = judge(suitable, expected, words)
    errors += [f"{name}: no row in {TABLE.name}" for name in without_row(tests)]
    if not was_there:
        LEFT.unlink(missing_ok=True)
    for reason, count in reasons.most_common():
        print(f"{count:4} skipped: {reason}")
    for error in errors:
        print("UNEXPECTED:", error)
    numbers = ", ".join(f"{counts[result]} {result}" for result in ("passed", "failed", "skipped", "missing"))
    print(f"rdma-core {release}'s tests on {kind}: {numbers}; {len(errors)} unexpected")
    return 1 if errors or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
