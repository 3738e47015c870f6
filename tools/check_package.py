#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs a build into a temporary folder and uses it as an embedder would.

check_package.py [BUILD]: liblarder shows nothing but larder_*, and examples/embed.c builds and runs
through pkg-config, against the shared and against the static library, the programs of
docs/EMBEDDING.md as well; the header is plain C and,
where there is a C++ compiler, C++.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
problems = []
passed = 0


def run(*command, **kwargs):
    return subprocess.run([str(word) for word in command], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs)


def expect(what, *command, **kwargs):
    global passed
    try:
        done = run(*command, **kwargs)
    except (OSError, subprocess.TimeoutExpired) as failure:
        problems.append(f"{what}: {failure}")
        return ""
    if done.returncode != 0:
        problems.append(f"{what}: exit code {done.returncode}\n{done.stdout}")
    else:
        passed += 1
    return done.stdout


def symbols(what, *command):
    """Every symbol that others can link to begins with larder_."""
    global passed
    names = [line.split()[-1] for line in expect(what, *command).splitlines() if " " in line]
    strange = [name for name in names if not name.startswith("larder_")]
    if strange or not names:
        problems.append(f"{what}: exports {strange[:20] or 'nothing'}")
    else:
        passed += 1


def find(root, name):
    return next(iter(sorted(root.rglob(name))), root / name)


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TOP / "build/release"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        expect("install", "meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
        for name in ("larder.1", "larder.service", "_larder", "larder.fish",
                     "completions/larder"):
            expect(name, "grep", "-q", ".", find(root, name))
        header = find(root, "larder.h")
        shared, static = find(root, "liblarder.so"), find(root, "liblarder.a")
        config = find(root, "larder.pc")
        symbols("liblarder.so", "nm", "-D", "--defined-only", shared)
        symbols("liblarder.a", "nm", "-g", "--defined-only", "--quiet", static)

        env = {**os.environ, "PKG_CONFIG_PATH": str(config.parent),
               "PKG_CONFIG_SYSROOT_DIR": str(root)}
        def flags(*words):
            return expect("pkg-config", "pkg-config", *words, "larder", env=env).split()
        embed, example = root / "embed", TOP / "examples/embed.c"
        strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread"]
        expect("embed, shared", "cc", *strict, example, "-o", embed, *flags("--cflags", "--libs"))
        expect("embed runs, shared", embed, env={**env, "LD_LIBRARY_PATH": str(shared.parent)},
               timeout=60)
        for number, program in enumerate(re.findall(
                r"^```c\n(.*?)^```", (TOP / "docs/EMBEDDING.md").read_text(), re.M | re.S)):
            page = root / f"page-{number}.c"
            page.write_text(program)
            expect("EMBEDDING.md", "cc", *strict, page, "-o", embed, *flags("--cflags", "--libs"))
            expect("EMBEDDING.md runs", embed, env={**env, "LD_LIBRARY_PATH": str(shared.parent)},
                   timeout=60)
        words = [static if word == "-llarder" else word for word in flags("--static", "--libs")]
        expect("embed, static", "cc", *strict, example, "-o", embed, *flags("--cflags"), *words)
        expect("embed runs, static", embed, timeout=60)

        for compiler, standard in (("cc", "-std=c99"), ("c++", "-std=c++11")):
            if shutil.which(compiler):
                only = root / ("only.c" if compiler == "cc" else "only.cc")
                only.write_text("#include <larder.h>\n")
                expect(f"larder.h by {compiler}", compiler, standard, "-Wall", "-Wextra", "-Werror",
                       "-pedantic", "-fsyntax-only", f"-I{header.parent}", only)
    for problem in problems:
        print(problem)
    print(f"{passed} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
