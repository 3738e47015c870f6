#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rejects includes that break the layers, and sources that no meson.build names.

The table below is the one of docs/ARCHITECTURE.md. Only direct includes of files in this
repository are looked at. `--self-test` proves that planted mistakes are found.
"""
import pathlib
import re
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent

# What the files of a folder may include: folders, or files of them. Each may include itself.
LAYERS = {
    "src/base": [],
    "src/os": ["src/base"],
    "src/engine": [
        "src/base",
        "src/os/memory.h",
        "src/os/clock.h",
        "src/os/thread.h",
        "src/os/random.h",
    ],
    "src/command": ["src/base", "src/engine"],
    "src/wire": ["src/base", "src/command/item.h", "src/command/reply.h",
                 "src/command/request.h"],
    "src/net": ["src/base", "src/os"],
    "src/server": ["src", "include"],
    "include": [],
    "examples": ["include"],
    "bench": ["src", "include"],
    "tests": ["src", "include"],
}
# The public library joins the layers below it; it has a place among the commands.
EXCEPTIONS = {
    "src/command/library.c": ["include"],
    "src/command/reply_tree.h": ["include"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(larder\.h)>)')
SOURCES = (".c", ".h", ".def")


def inside(path, folders):
    return any(path == f or path.startswith(f + "/") for f in folders)


def resolve(top, includer, name):
    """The included file relative to `top`, or None when it is not one of the repository."""
    for folder in (includer.parent, top / "src", top / "include", top):
        path = folder / name
        if path.is_file():
            return path.resolve().relative_to(top.resolve()).as_posix()
    return None


def check_includes(top):
    problems = []
    for folder in ("src", "include", "examples", "bench", "tests"):
        for path in sorted((top / folder).rglob("*")):
            if path.suffix not in SOURCES or not path.is_file():
                continue
            name = path.relative_to(top).as_posix()
            layer = next((l for l in LAYERS if inside(name, [l])), None)
            if layer is None:
                problems.append(f"{name}:1: belongs to no layer")
                continue
            allowed = LAYERS[layer] + [layer] + EXCEPTIONS.get(name, [])
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                wanted = match.group(1) or match.group(2)
                target = resolve(top, path, wanted)
                if target is None:
                    problems.append(f"{name}:{number}: includes {wanted}, which is not there")
                elif not inside(target, allowed):
                    problems.append(f"{name}:{number}: {layer} may not include {target}")
    return problems


def check_listed(top):
    """Each .c is named in a meson.build of its folder or one above."""
    problems = []
    for folder in ("src", "examples", "bench", "tests"):
        for path in sorted((top / folder).rglob("*.c")):
            above = path.parent
            while True:
                build = above / "meson.build"
                if build.is_file():
                    relative = path.relative_to(above).as_posix()
                    text = build.read_text()
                    if f"'{relative}'" in text or f"'{path.stem}'" in text:
                        break
                if above == top:
                    name = path.relative_to(top).as_posix()
                    problems.append(f"{name}:1: named in no meson.build")
                    break
                above = above.parent
    return problems


def self_test():
    """Each planted mistake is found; what is right beside it is not."""
    planted = {
        "src/base/a.h": ("", None),
        "src/os/socket.h": ("", None),
        "src/os/clock.h": ('#include "base/a.h"\n', None),
        "src/base/b.c": ('#include "base/a.h"\n\n#include "os/clock.h"\n', 3),
        "src/engine/table.h": ('#include "os/clock.h"\n', None),
        "src/engine/table.c": ('#include "engine/table.h"\n#include "os/socket.h"\n', 2),
        "src/command/reply.h": ("", None),
        "src/command/client.h": ("", None),
        "src/wire/resp.c": ('#include "command/reply.h"\n#include "command/client.h"\n', 2),
        "src/net/loop.c": ('#  include "../engine/table.h"\n', 1),
        "src/server/main.c": ('#include "engine/table.h"\n#include "gone.h"\n', 2),
        "src/stray.c": ("", 1),
    }
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        for name, (text, _) in planted.items():
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (top / "src/base/meson.build").write_text("files('b.c')")
        found = check_includes(top)
        unlisted = check_listed(top)
    wanted = {f"{name}:{line}" for name, (_, line) in planted.items() if line is not None}
    places = {problem.rsplit(": ", 1)[0] for problem in found}
    if places != wanted or len(found) != len(wanted):
        return [f"self-test: planted {sorted(wanted)}, found {found}"]
    if "src/base/b.c:1: named in no meson.build" in unlisted or len(unlisted) != 5:
        return [f"self-test: files named in no meson.build: {unlisted}"]
    return []


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems = self_test()
    else:
        problems = check_includes(TOP) + check_listed(TOP)
    print("\n".join(problems) or "layers: all is well")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
