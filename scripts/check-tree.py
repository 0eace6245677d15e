#!/usr/bin/env python3
"""Checks the rules that hold for the tree as a whole: layers, headers, layout, symbols, comments.

usage: check-tree.py [--library build/libfirn.a]

Prints "ok NAME" or "FAILED NAME" with the offending places for each rule; exits 1 when one fails.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What each folder of src/ may include besides itself and the public headers (firn/...).
LAYERS = {
    "base": [],
    "format": ["base"],
    "store": ["base"],
    "table": ["base", "format", "store"],
    "catalog": ["base", "format", "store", "table"],
    "rewrite": ["base", "format", "store", "table", "catalog"],
    "maintain": ["base", "format", "store", "table", "catalog", "rewrite"],
    "sql": ["base", "format", "store", "table", "catalog", "rewrite", "maintain"],
    "cli": [],
}

# The library returns errors and text; only the command line prints or ends the process.
PRINTING = {"printf", "vprintf", "puts", "putchar", "exit", "_exit", "perror"}
UNBOUNDED = {"strcpy", "strcat", "sprintf", "vsprintf", "gets", "strtok", "alloca"}


def tracked(*patterns):
    """Files of the tree, also those not yet added to git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    return sorted({name for name in names if name and os.path.exists(os.path.join(ROOT, name))})


def lines_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read().split("\n")


def check_layers():
    """An #include points at the same folder, a folder below it, or a public header."""
    bad = []
    for name in tracked("src/*.c", "src/*.h"):
        layer = name.split("/")[1]
        for number, line in enumerate(lines_of(name), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            target = match[1].split("/")[0]
            if "/" in match[1] and target not in [layer, "firn", *LAYERS[layer]]:
                bad.append(f"{name}:{number}: {layer}/ may not include {match[1]}")
    for name in tracked("include/*.h"):
        for number, line in enumerate(lines_of(name), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if match and not match[1].startswith("firn/"):
                bad.append(f"{name}:{number}: a public header may not include {match[1]}")
    return bad


def compile_header(name):
    include = name.split("/", 1)[1]
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write(f'#include "{include}"\n#include "{include}"\n')
        source.flush()
        command = [os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        command += ["-I", "include", "-I", "src", source.name]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return "" if run.returncode == 0 else f"{name}: {run.stderr.strip().splitlines()[0]}"


def check_headers():
    """Each header compiles alone, and twice."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [message for message in pool.map(compile_header, tracked("src/*.h", "include/*.h")) if message]


def check_format():
    """clang-format has nothing to change."""
    files = tracked("*.c", "*.h")
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True, text=True)
    return [line for line in run.stderr.split("\n") if "error:" in line]


def check_markers():
    """Nothing is left for later: no marker words."""
    marker = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
    bad = []
    for name in tracked("*.c", "*.h", "*.py", "*.sh", "*.md", "*.build", "Makefile", ".ci/run"):
        bad += [f"{name}:{number}: {line.strip()}" for number, line in enumerate(lines_of(name), 1) if marker.search(line)]
    return bad


def check_openings():
    """Each C file opens with a comment that says its job, each folder of src/ with a README."""
    bad = [f"{name}: does not open with a comment" for name in tracked("*.c", "*.h") if not lines_of(name)[0].startswith("/*")]
    for layer in LAYERS:
        if not os.path.exists(os.path.join(ROOT, "src", layer, "README.md")):
            bad.append(f"src/{layer}/README.md is missing")
    return bad


def check_symbols(library):
    """Global names begin with firn_, nothing is writable, the library neither prints nor exits."""
    bad = []
    member = "?"
    command = ["objdump", "-t", library]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n"):
        if ":     file format" in line:
            member = line.split(":")[0]
        # value, flags (7 columns), section, size, [visibility] name
        match = re.match(r"[0-9a-f]+ (.{7}) (\S+)\t[0-9a-f]+ (?:\.hidden )?(\S+)$", line)
        if not match:
            continue
        flags, section, name = match.groups()
        if section == "*UND*":
            if name in PRINTING | UNBOUNDED:
                bad.append(f"{member}: the library calls {name}()")
        elif flags[0] == "g" and not name.startswith("firn_"):
            bad.append(f"{member}: global name {name} lacks the prefix firn_")
        elif "O" in flags and re.match(r"\.(data|bss)($|\.(?!rel\.ro))|\*COM\*", section):
            bad.append(f"{member}: {name} is a writable global")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", help="the built libfirn.a, whose symbols are checked")
    arguments = parser.parse_args()
    checks = [check_layers, check_headers, check_format, check_markers, check_openings]
    results = [(check.__name__, check()) for check in checks]
    if arguments.library:
        results.append(("check_symbols", check_symbols(arguments.library)))
    for name, bad in results:
        print(f"{'FAILED' if bad else 'ok'} {name.removeprefix('check_')}")
        for message in bad:
            print(f"    {message}")
    sys.exit(any(bad for _, bad in results))


if __name__ == "__main__":
    main()
