#!/usr/bin/env python3
"""Makes C of a page's style and script, so that the program carries them.

usage: embed-page.py OUT.c PREFIX STYLE.css SCRIPT.js

The policy is what a browser is to be told: these two and nothing else may act, and nothing is loaded from anywhere.
"""
import base64
import hashlib
import sys


def source(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def definition(name, text):
    data = text.encode()
    lines = [", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    body = ",\n    ".join(lines)
    return (f"static const char {name}_data[] = {{\n    {body}, 0\n}};\n"
            f"const struct firn_text {name} = {{ {name}_data, sizeof {name}_data - 1 }};\n")


def main():
    out, prefix, *names = sys.argv[1:]
    style, script = (open(name, encoding="utf-8").read() for name in names)
    policy = (f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; img-src data:; "
              "base-uri 'none'; form-action 'none'")
    with open(out, "w", encoding="utf-8") as file:
        file.write('#include "firn/text.h"\n\n')
        for name, text in (("style", style), ("script", script), ("policy", policy)):
            file.write(f"extern const struct firn_text {prefix}_{name};\n" + definition(f"{prefix}_{name}", text))


if __name__ == "__main__":
    main()
