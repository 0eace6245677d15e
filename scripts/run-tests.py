#!/usr/bin/env python3
"""Runs every part of the tests and sums them up in one closing line, "N passed, N failed".

usage: run-tests.py [--build DIR] [PART...]

Parts: unit (gcc), clang (builds without a warning), asan, tsan, checks, interop. Without a name all of them run, interop beside the
sanitizers; those named run one after another. The output of each part goes to DIR/test-logs/PART.log; a part that fails shows what
failed. Exits 1 when anything failed.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPTS = os.path.join(ROOT, "scripts")
# Where threads are: the layers up to rewriting, and the procedures that run groups, manifests and deletions side by side.
TSAN_TESTS = re.compile(r"(base|store|catalog|rewrite)/"
                        r"|maintain/test_(apply|compute|convert|expire|journal|lease|maintain|meanwhile|orphan|removal|rewrite|survey|verify)")
SHOWN_LINES = 60
SANITIZED = ["-Doptimization=1", "-Dc_args=-g1", "-Dwerror=false"]

# Interop waits for the other engines much of the time, so that the sanitizers run beside it. Both need the first build.
FIRST = ["unit", "checks"]
LANES = [["interop"], ["clang", "asan", "tsan"]]


class Counts:
    """What one part found: numbers, and the text to show for each failure."""

    def __init__(self, passed=0, failures=(), skipped=0):
        self.passed = passed
        self.failures = list(failures)
        self.skipped = skipped

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures


class Runner:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.logs = os.path.join(self.build, "test-logs")
        os.makedirs(self.logs, exist_ok=True)

    def run(self, log, command, **extra):
        """Runs a command with its output appended to the log; gives its exit status."""
        environment = {**os.environ, **extra}
        with open(log, "a", encoding="utf-8") as file:
            print("+", " ".join(command), file=file, flush=True)
            return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment).returncode

    def setup(self, name, log, compiler, *options):
        """Configures DIR/test-NAME if that was not done before; gives the folder."""
        folder = os.path.join(self.build, "test-" + name)
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            if self.run(log, ["meson", "setup", folder, ROOT, "-Dtests=true", *options], CC=compiler):
                raise RuntimeError("meson setup failed")
        return folder

    def meson_build(self, name, log, compiler, *options):
        folder = self.setup(name, log, compiler, *options)
        if self.run(log, ["ninja", "-C", folder]):
            raise RuntimeError("the build failed")
        return folder

    def meson_test(self, folder, log, tests=(), **extra):
        """Runs the C tests of a build and counts the cmocka cases in them."""
        status = self.run(log, ["meson", "test", "-C", folder, "--no-rebuild", "--timeout-multiplier", "3", *tests], **extra)
        counts = Counts()
        with open(os.path.join(folder, "meson-logs", "testlog.json"), encoding="utf-8") as file:
            for line in file:
                add_cmocka(counts, json.loads(line))
        if status and not counts.failures:
            counts.failures.append(f"meson test ended with status {status}")
        return counts

    def unit(self, log):
        return self.meson_test(self.meson_build("gcc", log, "gcc"), log)

    # Most of CI's time is compiling: clang is there for its warnings, which need no optimisation, and the sanitizers need little.
    def clang(self, log):
        self.meson_build("clang", log, "clang", "-Doptimization=0")
        return Counts(passed=1)

    # Sanitizers tell the line of a fault with the least of debug information, which takes a third less time to compile.
    # gcc warns of more than there is in instrumented code; the plain builds are those without a warning.
    def asan(self, log):
        folder = self.meson_build("asan", log, "gcc", "-Db_sanitize=address,undefined", *SANITIZED)
        return self.meson_test(folder, log, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")

    def tsan(self, log):
        folder = self.setup("tsan", log, "gcc", "-Db_sanitize=thread", *SANITIZED)
        if self.run(log, ["ninja", "-C", folder, "build.ninja"]):
            raise RuntimeError("the build files are not up to date")
        listed = subprocess.run(["meson", "introspect", "--tests", folder], check=True, capture_output=True, text=True)
        tests = [test for test in json.loads(listed.stdout) if TSAN_TESTS.match(test["name"])]
        targets = [os.path.relpath(test["cmd"][0], folder) for test in tests]
        if self.run(log, ["ninja", "-C", folder, *targets]):
            raise RuntimeError("the build failed")
        return self.meson_test(folder, log, [test["name"] for test in tests], TSAN_OPTIONS="halt_on_error=1")

    def checks(self, log):
        library = os.path.join(self.meson_build("gcc", log, "gcc"), "libfirn.a")
        self.run(log, [sys.executable, os.path.join(SCRIPTS, "check-tree.py"), "--library", library])
        with open(log, encoding="utf-8") as file:
            text = file.read()
        failures = re.findall(r"^FAILED .*(?:\n    .*)*", text, re.M)
        passed = len(re.findall(r"^ok \w+$", text, re.M))
        if passed + len(failures) == 0:
            failures.append("the checks did not run")
        return Counts(passed, failures)

    def interop(self, log):
        folder = self.meson_build("gcc", log, "gcc")
        made = subprocess.run([os.path.join(SCRIPTS, "interop-env.sh")], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if made.returncode:
            raise RuntimeError("the environment could not be made:\n" + made.stderr)
        environment = made.stdout.strip()
        report = os.path.join(self.logs, "interop.xml")
        command = [os.path.join(environment, "bin", "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["--junitxml", report, os.path.join("tests", "interop")]
        status = self.run(log, command, PYTHONHASHSEED="0", FIRN=os.path.join(folder, "src", "cli", "firn"), FIRN_JARS=os.path.join(environment, "jars"))
        counts = read_junit(report)
        if status and not counts.failures:
            counts.failures.append(f"pytest ended with status {status}")
        return counts


def add_cmocka(counts, test):
    """Adds the cases of one test program; one that died before its closing lines counts as one failure."""
    text = test.get("stdout", "") + test.get("stderr", "")
    ran = sum(int(number) for number in re.findall(r"^\[==========\] (?:.*: )?(\d+) test\(s\) run", text, re.M))
    passed = sum(int(number) for number in re.findall(r"^\[  PASSED  \] (\d+) test\(s\)", text, re.M))
    skipped = sum(int(number) for number in re.findall(r"^\[  SKIPPED \] (\d+) test\(s\)", text, re.M))
    counts.passed += passed
    counts.skipped += skipped
    failed = max(ran - passed - skipped, 0)
    if test["returncode"] != 0 or failed:
        shown = "\n".join(text.strip().split("\n")[-SHOWN_LINES:])
        counts.failures += [f"{test['name']} (status {test['returncode']})\n{shown}"]
        counts.failures += [f"{test['name']}: another case"] * (failed - 1)


def read_junit(report):
    counts = Counts()
    if not os.path.exists(report):
        return Counts(failures=["pytest wrote no report"])
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        bad = [child for child in case if child.tag in ("failure", "error")]
        if bad:
            shown = "\n".join((bad[0].text or bad[0].get("message", "")).strip().split("\n")[-SHOWN_LINES:])
            counts.failures.append(f"{case.get('classname')}::{case.get('name')}\n{shown}")
        elif case.find("skipped") is not None:
            counts.skipped += 1
        else:
            counts.passed += 1
    return counts


def run_part(runner, part):
    """Runs one part and says what it found; never raises for what a part does wrong."""
    log = os.path.join(runner.logs, part + ".log")
    if os.path.exists(log):
        os.remove(log)
    start = time.monotonic()
    try:
        counts = getattr(runner, part)(log)
    except Exception as problem:
        tail = ""
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                tail = "".join(file.readlines()[-SHOWN_LINES:])
        counts = Counts(failures=[f"{problem}\n{tail}"])
    seconds = time.monotonic() - start
    skipped = f", skipped {counts.skipped}" if counts.skipped else ""
    lines = [f"{part:<8} passed {counts.passed}, failed {len(counts.failures)}{skipped} ({seconds:.0f} s)"]
    lines += ["  FAILED " + failure.removeprefix("FAILED ").replace("\n", "\n    ") for failure in counts.failures]
    print("\n".join(lines), flush=True)
    return counts


def run_lane(runner, parts):
    return [run_part(runner, part) for part in parts]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("parts", nargs="*")
    arguments = parser.parse_args()
    runner = Runner(arguments.build)
    total = Counts()
    lanes = [arguments.parts] if arguments.parts else LANES
    for part in () if arguments.parts else FIRST:
        total.add(run_part(runner, part))
    with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
        for found in pool.map(lambda lane: run_lane(runner, lane), lanes):
            for counts in found:
                total.add(counts)
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {len(total.failures)} failed{skipped}", flush=True)
    sys.exit(bool(total.failures))


if __name__ == "__main__":
    main()
