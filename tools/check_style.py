#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what docs/HACKING.md asks of every file and a program can see.

The licence line, line length, blanks, leftovers, header guards, and that no file speaks of the
machine it was written on. Where clang-format 14 is installed the layout of C files is compared
with what it would write. `--fix` wraps long comments and writes the layout.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
LINE_MAX = 100
FILE_LINES_MAX = 1100
C = (".c", ".h", ".def")
CODE = C + (".py", ".build")
# Spelled so that this file does not find itself.
PRIVATE = re.compile(r"/(?:wor[k]|hom[e]|roo[t])/|\bissue #?\d")
LEFTOVER = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X])\b")


def files():
    """What git tracks or would track; outside a checkout, everything but build folders."""
    if (TOP / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={TOP}", "ls-files", "-co", "--exclude-standard"],
            cwd=TOP, capture_output=True, text=True, check=True).stdout.splitlines()
        return sorted({TOP / name for name in listed if (TOP / name).is_file()})
    found = []
    for folder, folders, names in os.walk(TOP):
        folders[:] = [f for f in folders if f not in ("build", "__pycache__", ".git")]
        found += [pathlib.Path(folder) / name for name in names]
    return sorted(found)


def is_code(path):
    if path.suffix in CODE or path.name in ("meson_options.txt", ".clang-format"):
        return True
    return path.parent in (TOP / "scripts", TOP / ".ci", TOP / "tools")


def guard(name):
    return "LARDER_" + re.sub(r"[^A-Za-z0-9]", "_", name.removeprefix("src/")).upper()


def check_file(path):
    name = path.relative_to(TOP).as_posix()
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError:
        return  # a fuzzing corpus, for one
    if is_code(path):
        if not any("SPDX-License-Identifier: MIT" in line for line in lines[:2]):
            yield name, 1, "no SPDX-License-Identifier line"
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_MAX:
                yield name, number, f"longer than {LINE_MAX} columns"
            if line != line.rstrip() or "\t" in line:
                yield name, number, "trailing blanks or a tab"
            if LEFTOVER.search(line):
                yield name, number, "something left to do"
    if path.suffix in C and len(lines) > FILE_LINES_MAX:
        yield name, len(lines), f"more than {FILE_LINES_MAX} lines"
    if path.suffix == ".h" and name.startswith("src/"):
        wanted = guard(name)
        text = "\n".join(lines)
        if f"#ifndef {wanted}\n#define {wanted}\n" not in text:
            yield name, 1, f"its guard is not {wanted}"
    if is_code(path) or path.suffix == ".md":
        for number, line in enumerate(lines, 1):
            if PRIVATE.search(line):
                yield name, number, "speaks of a machine's folders or of the tracker"


def wrap_comments(path):
    """Carries what is beyond the margin of a comment's line over to its next line."""
    lines = path.read_text().split("\n")
    for number, line in enumerate(lines):
        start = re.match(r"(\s*)(/\*|\*|#)( *)", line)
        cut = line.rfind(" ", 0, LINE_MAX + 1)
        if len(line) <= LINE_MAX or not start or cut < start.end():
            continue
        if line[cut:] == " */":
            cut = line.rfind(" ", 0, cut)
        mark = " *" if start[2] == "/*" else start[2]
        margin = start[1] + mark + (start[3] or " ")
        lines[number], rest = line[:cut], margin + line[cut + 1:]
        following = lines[number + 1] if number + 1 < len(lines) else ""
        # Goes on in the same paragraph: not a list, not a table, not the comment's end.
        if following.startswith(margin) and not line.endswith("*/") and re.match(
                r"[^\s/-](?!.*   )", following[len(margin):]):
            lines[number + 1] = rest + following[len(margin) - 1:]
        else:
            lines.insert(number + 1, rest)
    path.write_text("\n".join(lines))


def formatter():
    for program in ("clang-format-14", "clang-format"):
        if shutil.which(program):
            version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if re.search(r"version 14\.", version):
                return program
    return None


def check_format(paths, fix):
    program = formatter()
    if program is None:
        print("style: no clang-format 14, the layout of C files is not checked")
        return
    names = [path.relative_to(TOP).as_posix() for path in paths]
    if fix:
        subprocess.run([program, "-i", *names], check=True, cwd=TOP)
        return
    told = subprocess.run([program, "--dry-run", *names], text=True, capture_output=True,
                          check=True, cwd=TOP).stderr
    first = {}
    for name, line in re.findall(r"^(\S+?):(\d+):\d+: warning: ", told, re.M):
        first.setdefault(name, int(line))
    for name, line in first.items():
        yield name, line, "clang-format would write it differently"


def main():
    everything = files()
    fix = sys.argv[1:] == ["--fix"]
    for path in everything if fix else []:
        if path.suffix in C:
            wrap_comments(path)
    layout = list(check_format([p for p in everything if p.suffix in (".c", ".h")], fix))
    problems = [problem for path in everything for problem in check_file(path)] + layout
    for name, line, text in problems:
        print(f"{name}:{line}: {text}")
    if not problems:
        print("style: all is well")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
