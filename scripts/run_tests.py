#!/usr/bin/env python3
"""Runs ctest in build folders and counts the cases: `run_tests.py [-j N] BUILD...`.

The last line is `N passed, N failed, N skipped`. Fails if a case failed, and under CI=true also if
one was skipped. A test that writes results/<name>.xml (gtest, pytest) counts by its cases, any other
test as one.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree


def is_skipped(case):
    return (
        case.find("skipped") is not None
        or case.get("result") == "skipped"
        or case.get("status") in ("notrun", "disabled")
    )


def is_failed(case):
    return case.find("failure") is not None or case.find("error") is not None


def skip_reason(case):
    skipped = case.find("skipped")
    if skipped is None:
        return "no reason given"
    return " ".join((skipped.get("message") or skipped.text or "no reason given").split())


def case_name(case):
    return f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")


class Count:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skips = []

    def add_cases(self, label, path, test_failed):
        failures = len(self.failures)
        for case in ElementTree.parse(path).iter("testcase"):
            name = f"{label}: {case_name(case)}"
            if is_failed(case):
                self.failures.append(name)
            elif is_skipped(case):
                # gtest lists what a filter or shard leaves out as notrun; nobody skipped those.
                if case.get("status") == "notrun" and case.find("skipped") is None:
                    continue
                self.skips.append(f"{name}: {skip_reason(case)}")
            else:
                self.passed += 1
        if test_failed and len(self.failures) == failures:
            self.failures.append(f"{label}: failed outside of its cases")

    def add_test(self, label, case):
        if is_failed(case) or case.get("status") == "fail":
            self.failures.append(label)
        elif is_skipped(case):
            self.skips.append(f"{label}: {skip_reason(case)}")
        else:
            self.passed += 1


def note_stage(name, seconds):
    """A line for the table of .ci/run, as scripts/timed writes them."""
    stages = os.environ.get("HEARTH_STAGES")
    if stages:
        with open(stages, "a") as file:
            file.write(f"{name:16} {seconds:8.0f}\n")


def run(build, jobs, count):
    results = build / "results"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    report = results / "ctest.junit"
    print(f"== {build}", flush=True)
    start = time.monotonic()
    status = subprocess.run(
        [
            "ctest", "--test-dir", str(build), "-j", str(jobs), "--output-on-failure",
            "--no-tests=error", "--output-junit", str(report.resolve()),
        ],
        stdin=subprocess.DEVNULL,
    ).returncode
    note_stage(f"tests {build.name}", time.monotonic() - start)
    failures = len(count.failures)
    if report.exists():
        # ctest copies what a test printed, terminal colours too, which XML does not allow.
        text = re.sub(r"[^\t\n\r\x20-\uFFFD]", "", report.read_text(errors="replace"))
        for case in ElementTree.fromstring(text).iter("testcase"):
            label = f"{build.name}/{case.get('name')}"
            cases = results / f"{case.get('name')}.xml"
            if cases.exists():
                failed = is_failed(case) or case.get("status") == "fail"
                count.add_cases(label, cases, failed)
            else:
                count.add_test(label, case)
    if status != 0 and len(count.failures) == failures:
        count.failures.append(f"{build.name}: ctest exited with {status}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("builds", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    count = Count()
    for build in arguments.builds:
        run(build, arguments.j, count)
    for skip in count.skips:
        print(f"skipped: {skip}")
    for failure in count.failures:
        print(f"FAILED: {failure}")
    if count.skips and os.environ.get("CI") == "true":
        print("CI must not skip: install what the skipped tests miss, or remove them")
    print(f"{count.passed} passed, {len(count.failures)} failed, {len(count.skips)} skipped")
    return 1 if count.failures or (count.skips and os.environ.get("CI") == "true") else 0


if __name__ == "__main__":
    sys.exit(main())
