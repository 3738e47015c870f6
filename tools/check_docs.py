#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the pages are true as far as a program can tell.

 - docs/reference is what the server says of itself (`larder --dump-reference`);
 - every page can be reached from the README, and every relative link leads somewhere;
 - every file that a page names exists, and every page that the code refers to;
 - every option of the server that the README uses exists.

`--write` writes docs/reference; `--self-test` proves that planted mistakes are found.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
REFERENCES = ("commands", "options", "errors")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)|(?:src|href)=\"([^\"#]+)\"")
# Paths that a reader could open. `<name>`, `NNN` and wildcards are placeholders.
PATH = re.compile(r"(?<![\w/.-])(?:\./)?"
                  r"((?:scripts|tools|src|tests|docs|examples|bench|include|\.ci)/[\w./-]*\w)")
OPTION = re.compile(r"(?<!\S)--([a-z][a-z-]+)")


def dump(server, what):
    done = subprocess.run([str(server), "--dump-reference", what], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=30)
    if done.returncode != 0 or not done.stdout:
        raise SystemExit(f"{server} --dump-reference {what} failed: {done.stderr}")
    return done.stdout


def check_reference(top, dumps, write=False):
    for what, wanted in dumps.items():
        path = top / "docs/reference" / f"{what}.md"
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted)
        elif not path.exists() or path.read_text() != wanted:
            yield f"docs/reference/{what}.md:1: is not what the server says of itself; " \
                  "run tools/generate_reference"


def pages(top):
    return [top / "README.md", top / "CHANGELOG.md", *sorted((top / "docs").rglob("*.md"))]


def check_links(top):
    reached = {top / "README.md", top / "CHANGELOG.md"}
    waiting = list(reached)
    while waiting:
        page = waiting.pop()
        if page.suffix != ".md" or not page.exists():
            continue
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for match in LINK.finditer(line):
                link = match.group(1) or match.group(2)
                if re.match(r"[a-z]+:", link):
                    continue
                target = (page.parent / link).resolve()
                if not target.exists():
                    yield f"{page.relative_to(top)}:{number}: {link} is not there"
                elif target not in reached:
                    reached.add(target)
                    waiting.append(target)
    for page in pages(top):
        if page.resolve() not in {path.resolve() for path in reached}:
            yield f"{page.relative_to(top)}:1: no page links to it"


def check_paths(top):
    for page in pages(top):
        if not page.exists() or "reference" in page.parts:
            continue
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for match in PATH.finditer(line):
                path, rest = match.group(1), line[match.end():]
                if rest[:1] in ("<", "*", "{") or rest[:2] in ("/<", "/*") or "NNN" in path:
                    continue
                if not (top / path).exists():
                    yield f"{page.relative_to(top)}:{number}: {path} is not there"


def check_sources(top):
    """Pages that the code refers to."""
    for path in sorted((top / "src").rglob("*.[chd]*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for page in re.findall(r"docs/[\w./-]+\.md", line):
                if not (top / page).exists():
                    yield f"{path.relative_to(top)}:{number}: {page} is not there"


def check_options(top, known):
    """In commands that start the server, only options it has."""
    for number, line in enumerate((top / "README.md").read_text().splitlines(), 1):
        if re.search(r"scripts/run|release/larder\s", line):
            for option in OPTION.findall(line):
                if option not in known:
                    yield f"README.md:{number}: the server has no option --{option}"


def check(top, dumps, known):
    return [*check_reference(top, dumps), *check_links(top), *check_paths(top),
            *check_sources(top), *check_options(top, known)]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        (top / "docs/reference").mkdir(parents=True)
        (top / "docs/reference/commands.md").write_text("old\n")
        (top / "docs/lost.md").write_text("nobody links here\n")
        (top / "README.md").write_text("[a](docs/reference/commands.md) [b](docs/gone.md)\n"
                                       "`src/gone.c` and src/<name>.c\n"
                                       "scripts/run --port 1 --wrong 2\n")
        (top / "scripts").mkdir()
        (top / "scripts/run").write_text("")
        (top / "CHANGELOG.md").write_text("")
        (top / "src").mkdir()
        (top / "src/a.c").write_text("/* See docs/lost.md and docs/gone.md. */\n")
        found = check(top, {"commands": "new\n"}, {"port"})
    wanted = ["docs/reference/commands.md:1", "README.md:1", "docs/lost.md:1", "README.md:1",
              "README.md:2", "README.md:3", "src/a.c:1"]
    if sorted(problem.split(": ")[0] for problem in found) != sorted(wanted):
        return [f"self-test: planted {wanted}, found {found}"]
    return []


def main():
    words = sys.argv[1:]
    if words[:1] == ["--self-test"]:
        problems = self_test()
    else:
        server = TOP / "build/release/larder"
        dumps = {what: dump(server, what) for what in REFERENCES}
        if words[:1] == ["--write"]:
            list(check_reference(TOP, dumps, write=True))
            return 0
        known = set(re.findall(r"^\| `(?:--)?([a-z][a-z-]+)`", dumps["options"], re.M))
        problems = check(TOP, dumps, known | {"help", "version"})
    print("\n".join(problems) or "docs: all is well")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
