#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a package installs beside the programs: manual page, completions of shells, systemd unit.

The page and the completions in packaging/ are made from docs/reference/options.md, which is what
the program says of itself. `--write` writes them; without it they are compared and what is there is
tried, as far as this machine can: the page by mandoc or man, the completions by their shells, the
unit by systemd-analyze, and its filter of system calls against what the server calls under strace.
`--self-test` proves that planted mistakes are found.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
PACKAGING = TOP / "packaging"
SERVER = TOP / "build/release/larder"
PAGE_DATE = "2026-12-03"
EXPOSURE_MAX = 20  # of systemd-analyze security, in tenths
ROW = re.compile(r"^\| `(.+?)` \| (.+?) \| (.*?) ?\| (.+?) \| (.+) \|$")
OTHER_FLAGS = [
    ("help", "shows a summary, or the options of one group"),
    ("version", "shows the version"),
    ("check-config", "reads file, environment and flags, says what is wrong with them, and ends"),
]


class Option:
    def __init__(self, group, name, takes, default, changes, text):
        self.group, self.name, self.text = group, name, text
        kind, _, choices = takes.partition(": ")
        self.kind = kind
        self.choices = re.findall(r"`([^`]*)`", choices)
        if kind == "yes or no":
            self.choices = ["yes", "no"]
        self.default = default.strip("`")
        self.live = changes == "yes"

    @property
    def is_path(self):
        return self.name in ("config", "logfile", "pidfile", "unixsocket")


def read_options():
    """Those that can be set: what is fixed is for programs that ask."""
    options, group = [], ""
    for line in (TOP / "docs/reference/options.md").read_text().splitlines():
        if line.startswith("## "):
            group = line[3:]
        row = ROW.match(line)
        if row and row[4] != "no (fixed)":
            options.append(Option(group, *row.groups()))
    return options


def version():
    return re.search(r"version: '([^']+)'", (TOP / "meson.build").read_text())[1]


# ---- the manual page

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


PAGE_HEAD = r""".\" SPDX-License-Identifier: MIT
.\" Written by tools/packaging.py from the table of options.
.TH LARDER 1 "{date}" "Larder {version}" "User Commands"
.SH NAME
larder \- in\-memory cache server for Redis clients
.SH SYNOPSIS
.B larder
.RI [ FILE ]
.RB [ \-\-\fIOPTION\fR
.IR VALUE ]...
.br
.B larder \-\-check\-config
.RI [ FILE ]
.RB [ \-\-\fIOPTION\fR
.IR VALUE ]...
.br
.B larder \-\-help
.RI [ GROUP ]
.br
.B larder \-\-version
.SH DESCRIPTION
.B larder
keeps strings in memory for clients that speak the protocol of Redis.
It stays in the foreground and logs to standard error.
.PP
Each option is a flag
.RB ( "\-\-maxmemory 1gb" ),
a line of the configuration
.I FILE
.RB ( "maxmemory 1gb" ),
an environment variable
.RB ( LARDER_MAXMEMORY=1gb )
and a name for CONFIG GET and, where it can change while the server runs, CONFIG SET.
Flags override the environment, which overrides the file.
.PP
.I FILE
stands anywhere among the flags where it cannot be taken for a value, so not behind a list as that
of
.BR \-\-bind .
A flag's value is the next word or stands behind an equals sign
.RB ( "\-\-maxmemory=1gb" );
a flag that takes yes or no means yes without one.
.SH FILES
In a
.I FILE
each option has a line of its own, and so has a comment, which begins with #.
Words are quoted as in Redis: "..." with the escapes \en, \er, \et, \ea, \eb, \exHH, \e" and \e\e,
or '...' with \e'.
.B include
.I PATH
reads another file at that place; a relative path starts at the working directory, and a pattern
.RB ( conf.d/*.conf )
reads all files that fit it in alphabetical order.
.SH OPTIONS
"""
PAGE_TAIL = r""".SH SIGNALS
.TP
.BR SIGTERM ", " SIGINT
Stop: what was received is answered.
A second one ends the process at once.
.TP
.B SIGHUP
Opens the log file anew and reads file, environment and flags again.
What CONFIG SET may change takes effect; a file with a mistake is refused whole.
.TP
.BR SIGPIPE ", " SIGUSR1 ", " SIGUSR2
Nothing.
.SH ENVIRONMENT
.TP
.BR NOTIFY_SOCKET ", " WATCHDOG_USEC ", " WATCHDOG_PID
Set by
.BR systemd (1),
which is told when the server is ready, reloads and stops, and that its workers turn.
.SH EXIT STATUS
.TP
.B 0
It stopped as asked, or the configuration is good.
.TP
.B 1
It could not start, or was asked twice to stop.
.TP
.B 2
The options are wrong.
.SH SEE ALSO
.BR redis\-cli (1),
.BR systemd.service (5)
"""


def manual_page(options):
    out = [PAGE_HEAD.format(date=PAGE_DATE, version=version())]
    for name, text in OTHER_FLAGS:
        out.append(f".TP\n.B \\-\\-{roff(name)}\n{roff(text.capitalize())}.\n")
    group = ""
    for option in options:
        if option.group != group:
            group = option.group
            out.append(f".SS {group.capitalize()}\n")
        value = "|".join(option.choices) or option.kind.replace(", ", " in ").replace(" ", "_")
        out.append(f".TP\n.BI \\-\\-{roff(option.name)} \" {roff(value)}\"\n")
        out.append(f"{roff(option.text[0].upper() + option.text[1:])}.\n")
        if option.default:
            out.append(f"Default: {roff(option.default)}.\n")
        if option.live:
            out.append("CONFIG SET changes it.\n")
    return "".join(out) + PAGE_TAIL


# ---- completions

def bash(options):
    flags = " ".join(f"--{name}" for name in
                     [name for name, _ in OTHER_FLAGS] + [option.name for option in options])
    lines = ["# SPDX-License-Identifier: MIT",
             "# Written by tools/packaging.py from the table of options.",
             "_larder()", "{",
             '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}"',
             '    local words=""',
             '    case "$before" in']
    groups = " ".join(dict.fromkeys(option.group for option in options))
    lines.append(f'    --help) words="{groups}" ;;')
    for option in options:
        if option.choices:
            lines.append(f'    --{option.name}) words="{" ".join(option.choices)}" ;;')
    paths = "|".join(f"--{option.name}" for option in options if option.is_path)
    lines += [f"    {paths})",
              '        mapfile -t COMPREPLY < <(compgen -f -- "$word")',
              "        compopt -o filenames 2>/dev/null",
              "        return ;;",
              "    esac",
              '    if [[ $word == -* ]]; then', "        words=\"" + flags + "\"", "    fi",
              '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")',
              '    if [[ $word != -* && ($before != -* || $before == --check-config) ]]; then',
              '        mapfile -t COMPREPLY < <(compgen -f -- "$word")',
              "        compopt -o filenames 2>/dev/null",
              "    fi", "}", "complete -F _larder larder"]
    return "\n".join(lines) + "\n"


def zsh(options):
    def quoted(text):
        return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")

    groups = " ".join(dict.fromkeys(option.group for option in options))
    lines = ["#compdef larder", "# SPDX-License-Identifier: MIT",
             "# Written by tools/packaging.py from the table of options.", "_arguments \\"]
    for name, text in OTHER_FLAGS:
        action = f"::group:({groups})" if name == "help" else ""
        lines.append(f"    '--{name}[{quoted(text)}]{action}' \\")
    for option in options:
        repeat = "*" if option.kind == "list" else ""
        action = ("_files" if option.is_path else
                  f"({' '.join(option.choices)})" if option.choices else "")
        lines.append(f"    '{repeat}--{option.name}[{quoted(option.text)}]:"
                     f"{quoted(option.kind)}:{action}' \\")
    lines.append("    '1::configuration file:_files'")
    return "\n".join(lines) + "\n"


def fish(options):
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    groups = " ".join(dict.fromkeys(option.group for option in options))
    lines = ["# SPDX-License-Identifier: MIT",
             "# Written by tools/packaging.py from the table of options."]
    for name, text in OTHER_FLAGS:
        takes = f" -x -a {quoted(groups)}" if name == "help" else " -f"
        lines.append(f"complete -c larder -l {name}{takes} -d {quoted(text)}")
    for option in options:
        takes = ("-r -F" if option.is_path else
                 f"-x -a {quoted(' '.join(option.choices))}" if option.choices else "-x")
        lines.append(f"complete -c larder -l {option.name} {takes} -d {quoted(option.text)}")
    return "\n".join(lines) + "\n"


def pages(options):
    return {"larder.1": manual_page(options), "larder.bash": bash(options),
            "_larder": zsh(options), "larder.fish": fish(options)}


# ---- trying them

class Tried:
    def __init__(self, packaging):
        self.packaging = packaging
        self.passed = 0
        self.failures = {}
        self.traced = False  # the server's system calls were looked at

    def judge(self, what, good, text=""):
        if good:
            self.passed += 1
        else:
            self.failures[what] = text

    def run(self, what, *command, **kwargs):
        """Good when it ends with 0 and says nothing on standard error."""
        done = run(*command, **kwargs)
        self.judge(what, done.returncode == 0 and not done.stderr, done.stdout + done.stderr)
        return done.stdout


def run(*command, **kwargs):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, **kwargs)


def have(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        print(f"skipped {' and '.join(missing)}: not on this machine")
    return not missing


def try_page(tried):
    page = tried.packaging / "larder.1"
    if shutil.which("mandoc"):
        tried.run("mandoc", "mandoc", "-T", "lint", "-W", "warning", page)
    elif have("man", "groff"):
        done = tried.run("man", "man", "--warnings", "-l", page,
                         env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
        tried.judge("man shows the options", "--unixsocketperm" in done, done[:500])


def complete(tried, words):
    """What bash offers for the last of these words."""
    script = (f'source "{tried.packaging / "larder.bash"}"; COMP_WORDS=("$@"); '
              "COMP_CWORD=$(($# - 1)); _larder; printf '%s\\n' \"${COMPREPLY[@]}\"")
    return run("bash", "-c", script, "bash", "larder", *words, cwd=TOP).stdout.split()


def try_completions(tried, options):
    if have("bash"):
        for words, wanted in [
                (["--pid"], ["--pidfile"]),
                (["--io", ""], ["auto", "io_uring", "epoll"]),
                (["--port", "1", "--protected-mode", "y"], ["yes"]),
                (["--help", "mem"], ["memory"]),
                (["--logfile", "READ"], ["README.md"]),
                (["READ"], ["README.md"]),
                (["--check-config", "READ"], ["README.md"]),
                (["--port", "1", "READ"], ["README.md"]),
                (["--nothing"], [])]:
            offered = complete(tried, words)
            tried.judge(f"bash completes {words}", offered == wanted, str(offered))
        offered = set(complete(tried, ["--"]))
        tried.judge("bash offers every option", offered ==
                    {f"--{name}" for name in [*(o.name for o in options),
                                              *(name for name, _ in OTHER_FLAGS)]}, str(offered))
    if have("zsh"):
        tried.run("zsh", "zsh", "-n", tried.packaging / "_larder")
    if have("fish"):
        tried.run("fish", "fish", "--no-execute", tried.packaging / "larder.fish")


def called(folder):
    """The system calls of a server from start over requests and a reload to its stop."""
    traces = folder / "trace"
    path = folder / "socket"
    names = set()
    for io in "auto", "epoll":
        process = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", traces, SERVER, "--port", "0", "--unixsocket", path,
             "--io", io, "--maxmemory", "64mb", "--pidfile", folder / "pid", "--threads", "2",
             "--unixsocketperm", "777", "--logfile", folder / "log"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        for _ in range(600):
            if path.exists() and (folder / "pid").exists() or process.poll() is not None:
                break
            time.sleep(0.05)
        if process.poll() is not None:
            return None, process.stderr.read()
        server = int((folder / "pid").read_text())
        answers = run("redis-cli", "-s", path, "SET", "k", "x" * 70000).stdout
        answers += run("redis-cli", "-s", path, "INFO", "everything").stdout
        os.kill(server, signal.SIGHUP)
        for _ in range(600):
            if "configuration reloaded" in (folder / "log").read_text():
                break
            time.sleep(0.05)
        os.kill(server, signal.SIGTERM)
        process.communicate(timeout=60)
        if process.returncode != 0 or "larder_version" not in answers:
            return None, answers
        names |= set(re.findall(r"^\d+ +(\w+)\(", traces.read_text(), re.M))
        (folder / "log").unlink()
    return names, ""


def allowed(unit):
    """The names that the unit's filter lets through, as systemd expands its groups."""
    def expand(name):
        if not name.startswith("@"):
            return {name}
        lines = run("systemd-analyze", "syscall-filter", name).stdout.splitlines()
        words = [line.strip() for line in lines[1:] if not line.strip().startswith("#")]
        return set().union(*(expand(word) for word in words if word))

    names = set()
    for value in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
        both = set().union(*(expand(word) for word in value.lstrip("~").split()))
        names = names - both if value.startswith("~") else names | both
    return names | expand("@default")


def try_unit(tried):
    if not have("systemd-analyze"):
        return
    text = (tried.packaging / "larder.service.in").read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        unit = folder / "larder.service"
        (folder / "larder").write_text("#!/bin/sh\n")
        (folder / "larder").chmod(0o755)
        unit.write_text(text.replace("@bindir@", str(folder)).replace("@sysconfdir@", "/etc"))
        tried.run("the unit", "systemd-analyze", "verify", "--man=no", unit)
        security = run("systemd-analyze", "security", "--offline=true", "--no-pager",
                       f"--threshold={EXPOSURE_MAX}", unit)
        if "unrecognized option" in security.stderr:
            print("skipped the unit's exposure: this systemd-analyze looks at no files")
        else:
            tried.judge("the unit's exposure", security.returncode == 0, security.stdout[-300:])
        if not have("strace", "redis-cli"):
            return
        names, problem = called(folder)
        if names is None:
            print(f"skipped the unit's system calls: strace cannot run the server ({problem!r})")
            return
        tried.traced = True
        refused = sorted(names - allowed(text))
        tried.judge("the unit lets the server call what it calls", not refused, str(refused))
        tried.judge("what it does not need is refused",
                    not {"mount", "ptrace", "reboot", "bpf"} & allowed(text), "it is allowed")


def try_all(packaging):
    options = read_options()
    tried = Tried(packaging)
    for name, text in pages(options).items():
        tried.judge(f"packaging/{name}", (packaging / name).read_text() == text,
                    "does not follow the table of options; run tools/generate_reference")
    try_page(tried)
    try_completions(tried, options)
    try_unit(tried)
    return tried


def self_test():
    """One mistake in each file; what this machine lacks the program for is not looked for."""
    planted = {
        "larder.1": ("\\-\\-unixsocketperm", "\\fX", {"packaging/larder.1"}),
        "larder.bash": (" --pidfile ", " --pdfile ", {
            "packaging/larder.bash", "bash completes ['--pid']", "bash offers every option"}),
        "_larder": ("--threads", "--thread", {"packaging/_larder"}),
        "larder.fish": ("-l threads", "-l thread", {"packaging/larder.fish"}),
        "larder.service.in": ("~@privileged", "~@network-io @privileged",
                              {"the unit lets the server call what it calls"}),
    }
    wanted = set().union(*(found for _, _, found in planted.values()))
    with tempfile.TemporaryDirectory() as name:
        packaging = pathlib.Path(name)
        for file, (right, wrong, _) in planted.items():
            text = (PACKAGING / file).read_text()
            assert right in text, file
            (packaging / file).write_text(text.replace(right, wrong))
        tried = try_all(packaging)
    if not tried.traced:
        wanted -= planted["larder.service.in"][2]
    return [f"not found: {what}" for what in sorted(wanted - set(tried.failures))]


def main():
    if sys.argv[1:] == ["--write"]:
        for name, text in pages(read_options()).items():
            (PACKAGING / name).write_text(text)
        return 0
    if sys.argv[1:] == ["--self-test"]:
        problems = self_test()
        print("\n".join(problems) or "packaging: planted mistakes are found")
        return 1 if problems else 0
    tried = try_all(PACKAGING)
    for what, text in tried.failures.items():
        print(f"{what}: {text}")
    print(f"{tried.passed} passed, {len(tried.failures)} failed")
    return 1 if tried.failures or not tried.passed else 0


if __name__ == "__main__":
    sys.exit(main())
