"""The command line as a user meets it: a process with streams, an environment and an exit code."""

from __future__ import annotations

import argparse
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from cli import stub_layoutprobe

import layoutprobe.cli.main as cli_main
from layoutprobe import __version__
from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.main import main
from layoutprobe.engine.choice import ENVIRONMENT
from layoutprobe.engine.native import library

STUB = Path(__file__).with_name("stub_layoutprobe.py")
ROOT = Path(__file__).parents[2]


def environment(**extra: str) -> dict[str, str]:
    clean = {
        k: v
        for k, v in os.environ.items()
        if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "LAYOUTPROBE_DEBUG")
    }
    return {**clean, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **extra}


def process(report: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`layoutprobe ARGUMENTS` on a prepared report, as a process."""
    return subprocess.run(
        [sys.executable, str(STUB), report, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def stub(report: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, which saves its start: with streams as pipes are, and an environment."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - environment().keys():
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        code = stub_layoutprobe.run(report, [*arguments], patch.setattr)
    written = {}
    for name, stream in streams.items():
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        written[name] = stream.buffer.getvalue().decode()
    return subprocess.CompletedProcess(arguments, code, **written)


def test_a_process_says_the_same() -> None:
    for report, arguments in (
        ("transposed", ("dump",)),
        ("error", ("dump",)),
        ("right", ("dump", "--wave", "4")),
    ):
        alone, here = (run(report, *arguments, COLUMNS="70") for run in (process, stub))
        assert (alone.returncode, alone.stdout, alone.stderr) == (here.returncode, here.stdout, here.stderr)


@pytest.mark.parametrize(("report", "code"), [("right", 0), ("transposed", 1), ("undecided", 2)])
@pytest.mark.parametrize("format", ["table", "json", "csv", "svg", "html"])
def test_the_verdict_is_the_exit_code(report: str, code: int, format: str) -> None:
    done = stub(report, "dump", "--format", format)
    assert done.returncode == code
    assert done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["dump", "roundtrip", "epilogue"])
def test_each_command_runs(command: str) -> None:
    done = stub("right", command)
    assert done.returncode == 0
    assert "HOLDS (emulated)" in done.stdout


def test_only_given_options_reach_the_command(tmp_path: Path) -> None:
    seen = tmp_path / "options"
    stub("right", "dump", STUB_OPTIONS=str(seen))
    assert seen.read_text("utf-8") == "[('matrix', 'A')]"
    stub(
        "right",
        *("dump", "--matrix", "b", "--lds", "xor", "--pattern", "rowcol", "--pattern", "row*16 + col"),
        *("--dtype", "f16", "--arch", "here", "--compiler", "/x/clang", "--backend", "emulator"),
        *("--carrier", "raw16", "--pattern=-row"),
        STUB_OPTIONS=str(seen),
    )
    assert seen.read_text("utf-8") == repr(
        [
            ("arch", "here"),
            ("backend", "emulator"),
            ("carrier", "raw16"),
            ("compiler", "/x/clang"),
            ("dtype", "f16"),
            ("lds", "xor"),
            ("matrix", "B"),
            ("pattern", ["rowcol", "row*16 + col", "-row"]),
        ]
    )
    stub("right", "roundtrip", "--matrix", "b", "--lds", "", STUB_OPTIONS=str(seen))
    assert seen.read_text("utf-8") == "[('lds', ''), ('matrix', 'B')]", "an empty name is one that is given"
    stub("right", "epilogue", STUB_OPTIONS=str(seen))
    assert seen.read_text("utf-8") == "[]"


def test_filters() -> None:
    done = stub("right", "dump", "--format", "csv", "--wave", "2", "--lane", "0-1, 17", "--vgpr", "7,3")
    places = [tuple(line.split(",")[1:4]) for line in done.stdout.splitlines()[1:]]
    assert places == [("2", lane, vgpr) for lane in ("0", "1", "17") for vgpr in ("3", "3", "7", "7")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("dump", "--wave", "4"), ["no wave 4 here", "wave 0 to 3"]),
        (("dump", "--lane", "0-40"), ["no lane 32 here", "lane 0 to 31"]),
        (("dump", "--vgpr", "8"), ["no VGPR 8 here", "VGPR 0 to 7"]),
        (("dump", "--lane", "0-999999999"), ["argument --lane", "'999999999'", "0 to 4095"]),
        (("dump", "--lane", "9" * 5000), ["argument --lane", "0 to 4095"]),
        (("dump", "--lane", "5-2"), ["'5-2' runs backwards; write 2-5"]),
        (("dump", "--lane", ""), ["argument --lane", "not a number"]),
        (("dump", "--lane", "²"), ["argument --lane", "not a number"]),
        (("dump", "--wave", "-1"), ["argument --wave"]),
        (("dump", "--format", "xml"), ["'xml'", "table", "json", "csv", "svg", "html"]),
        (("dump", "--matr", "A"), ["unrecognized arguments: --matr"]),
        (("dump", "stray"), ["unrecognized arguments: stray"]),
        (
            ("epilogue", "--pattern", "row"),
            ["usage: layoutprobe epilogue", "unrecognized arguments: --pattern row"],
        ),
        (("dump", "--matr=A"), ["usage: layoutprobe dump"]),
        (("dump", "--output", "a.pdf"), ["suffix .pdf", "file a.pdf", ".json", "--format table|json"]),
        (("dump", "--output", ""), ["the output file has no name"]),
        (("list", "secrets"), ["'secrets'", "patterns", "schemes"]),
        (("explode",), ["'explode'", "dump", "roundtrip", "epilogue", "doctor"]),
    ],
)
def test_wrong_usage_is_one_message(arguments: tuple[str, ...], words: list[str]) -> None:
    done = stub("right", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_no_command_is_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    without = capsys.readouterr()
    assert main(["--help"]) == 0
    assert without == capsys.readouterr()
    assert "exit codes:" in without.out


def test_a_command_is_a_module_and_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ARCHITECTURE.md says of adding a command: a row in COMMANDS, and everything knows it."""
    told = []

    def run(arguments: argparse.Namespace) -> int:
        told.append(arguments.loud)
        return 1

    def add_options(command: Parser) -> None:
        command.add_argument("--loud", action="store_true", help="say it aloud")

    added = Command("whisper", "says it softly", run, add_options, "examples:\n  layoutprobe whisper\n")
    module = ModuleType("layoutprobe.cli.whisper")
    vars(module)["COMMAND"] = added
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(cli_main, "COMMANDS", (*cli_main.COMMANDS, added.name))
    assert main(["whisper", "--loud"]) == 1
    assert told == [True]
    assert main(["whisper", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "says it softly." in shown
    assert "exit codes:" in shown
    assert "--loud" in shown
    assert main(["--help"]) == 0
    assert "whisper" in capsys.readouterr().out
    assert main(["whisper", "--quiet"]) == 2
    assert "usage: layoutprobe whisper" in capsys.readouterr().err


def test_every_command_has_one_file_and_one_name() -> None:
    folder = Path(cli_main.__file__).parent
    assert len(set(cli_main.COMMANDS)) == len(cli_main.COMMANDS)
    for name in cli_main.COMMANDS:
        assert cli_main.named(name).name == name
        assert "COMMAND = Command(" in (folder / f"{name.replace('-', '_')}.py").read_text("utf-8")


def test_a_probe_error_says_what_where_expected_observed_next() -> None:
    done = stub("error", "dump")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "layoutprobe: the kernel read LDS that nobody wrote\n"
        "  where:    kernel gemm\\x1b[31m, PC 0x1f4\n"
        "  expected: a store before the load\n"
        "  observed: no store\n"
        "  next:     look at the barrier\n"
    )


def test_a_bug_is_said_to_be_ours() -> None:
    done = stub("bug", "dump")
    assert done.returncode == 2
    assert "a bug in layoutprobe, not in your kernel: ZeroDivisionError" in done.stderr
    assert "Nothing was decided" in done.stderr
    assert max(map(len, done.stderr.splitlines()[1:])) <= 80
    assert "Traceback" not in done.stderr
    assert "Traceback" in stub("bug", "dump", LAYOUTPROBE_DEBUG="1").stderr


def test_a_missing_dependency_is_no_bug() -> None:
    done = stub("missing", "dump")
    assert done.returncode == 2
    assert done.stderr.startswith("layoutprobe: the Python package 'numpy' is missing in ")
    assert "pip install layoutprobe" in done.stderr


def test_a_package_that_even_the_command_line_needs() -> None:
    script = (
        "import sys; sys.modules['msgspec'] = None; from layoutprobe.__main__ import run; sys.exit(run())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("layoutprobe: the Python package 'msgspec' is missing in ")


def test_interrupt() -> None:
    done = stub("interrupt", "dump")
    assert done.returncode == 130
    assert done.stderr == "layoutprobe: interrupted\n"


SLOW_MODULE = """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
try:
    time.sleep(60)
except KeyboardInterrupt:  # as an extension module does that fails to initialise
    raise ImportError("numpy failed to import") from None
"""


@pytest.mark.parametrize("module", ["numpy", "argparse"])
def test_interrupt_while_a_module_loads(tmp_path: Path, module: str) -> None:
    """Ctrl-C in the middle of an import ends the program in one line, whatever the import makes of it."""
    (tmp_path / f"{module}.py").write_text(SLOW_MODULE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "layoutprobe", "dump"],
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}"),
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "layoutprobe: interrupted\n")


@pytest.mark.parametrize(("report", "code"), [("right", 0), ("transposed", 1)])
@pytest.mark.parametrize("format", ["table", "json"])
def test_a_reader_that_leaves_changes_nothing(report: str, code: int, format: str) -> None:
    """`| head -1`: no noise, and the exit code is still the verdict."""
    reading, writing = os.pipe()
    os.close(reading)  # the reader has left before anything is written
    try:
        done = subprocess.run(
            [sys.executable, str(STUB), report, "dump", "--format", format],
            stdout=writing,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=60,
        )
    finally:
        os.close(writing)
    assert done.returncode == code
    assert done.stderr == b""


@pytest.mark.parametrize("arguments", [("--help",), ("list", "patterns"), ("doctor",)])
def test_a_reader_that_leaves_a_list(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "layoutprobe", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=60,
        )
    finally:
        os.close(writing)
    assert done.stderr == b""


PRINTING = [
    ("--help",),
    ("--version",),
    ("dump", "--help"),
    ("doctor",),
    ("list", "patterns"),
    ("list", "checks"),
    ("explain", "races"),
    ("occupancy", "--vgprs", "96"),
    ("occupancy", "--vgprs", "96", "--format", "json"),
    ("epilogue",),
]
"""Every command that writes to standard output, but for `check`."""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which only Linux has")
@pytest.mark.parametrize("arguments", PRINTING)
def test_a_full_disk_is_an_error(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, str(STUB), "right", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr == (
        "layoutprobe: standard output cannot be written\n  observed: No space left on device\n"
    )


@pytest.mark.parametrize("arguments", PRINTING)
def test_closed_stdout_is_an_error(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, str(STUB), "right", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("layoutprobe: standard output is closed\n")
    assert "Traceback" not in done.stderr


def test_closed_stdout_does_not_matter_to_a_file(tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    done = subprocess.run(
        [
            *("sh", "-c", 'exec "$@" >&-', "sh"),
            *(sys.executable, str(STUB), "right", "dump", "--output", str(output)),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 0
    assert json.loads(output.read_text("utf-8"))["verdict"] == "holds"


@pytest.mark.parametrize("columns", ["0", "-1", "wide", ""])
def test_columns_that_are_no_width_count_as_unset(columns: str) -> None:
    assert stub("right", "dump", COLUMNS=columns).stdout == stub("right", "dump").stdout


@pytest.mark.parametrize("format", ["table", "json", "csv", "svg", "html"])
def test_an_ascii_locale(format: str) -> None:
    done = process("transposed", "dump", "--format", format, PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert done.stderr == ""
    if format in ("table", "json", "csv"):
        assert done.stdout.isascii()


@pytest.mark.parametrize("columns", [40, 80])
def test_a_pipe_has_the_width_that_is_asked_for_and_no_colour(columns: int) -> None:
    done = stub("transposed", "dump", COLUMNS=str(columns))
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert "\x1b" not in done.stdout


def on_a_terminal(report: str, **extra: str) -> tuple[bytes, int]:
    """What the command prints when stdout and stderr are a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(STUB), report, "dump"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment(TERM="xterm-256color", COLUMNS="80", **extra),
    )
    os.close(follower)
    output = b""
    try:
        while chunk := os.read(leader, 65536):
            output += chunk
    except OSError:  # Linux says EIO at the end of a terminal
        pass
    os.close(leader)
    return output, process.wait(timeout=60)


def test_a_terminal_gets_colours_and_no_color_takes_them() -> None:
    output, code = on_a_terminal("transposed")
    assert code == 1
    assert b"\x1b[1;31m!" in output
    output, _ = on_a_terminal("transposed", NO_COLOR="1")
    assert b"31m" not in output
    assert b"!0/1,0" in output


def test_json_on_stdout_is_json() -> None:
    found = json.loads(stub("one-slot", "dump", "--format", "json").stdout)
    assert [s for s in found["slots"] if s["mismatch"]] == [
        {
            "wave": 2,
            "lane": 5,
            "vgpr": 3,
            "bits": [16, 31],
            "loaded": [0, 0],
            "needed": [37, 7],
            "mismatch": True,
            "live": True,
            "read_by": 0,
        }
    ]


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"layoutprobe {__version__}\n"
    for arguments in (["--help"], ["dump", "--help"], ["roundtrip", "--help"], ["epilogue", "--help"]):
        assert main(arguments) == 0
        text = capsys.readouterr().out
        assert "examples:" in text
        assert "exit codes:" in text


def test_help_names_every_scheme(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from layoutprobe.layouts import swizzle

    class Rotated(swizzle.Plain):
        name = "rotated"

    monkeypatch.setitem(swizzle.SCHEMES, "rotated", Rotated())
    for command in ("dump", "roundtrip"):
        assert main([command, "--help"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "none, padded, xor, xor-vector, row-permute, rotated (default none)" in shown


def test_all_of_lds(capsys: pytest.CaptureFixture[str]) -> None:
    shown, whole = stub("roundtrip", "roundtrip").stdout, stub("roundtrip", "roundtrip", "--all").stdout
    assert "more lines not shown; --all shows them" in shown
    assert "not shown" not in whole
    assert "A[63][" in whole
    assert "A[63][" not in shown.partition("LDS in address order")[2]


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from layoutprobe.cli.main import main\n"
        "main(['--help'])\n"
        "heavy = {'numpy', 'rich', 'tinygrad', 'elftools'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_json_does_not_load_the_terminal_library() -> None:
    script = (
        "import io, sys\n"
        f"sys.path.insert(0, {str(STUB.parents[1])!r})\n"
        "import fake_reports\n"
        "from layoutprobe.render.formats import find\n"
        "from layoutprobe.render.layout.view import select\n"
        "for format in ('json', 'csv', 'svg', 'html'):\n"
        "    find('layout', format).write(select(fake_reports.dump()), io.StringIO())\n"
        "sys.exit('rich was loaded' if 'rich' in sys.modules else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    from layoutprobe.layouts.swizzle import SCHEMES
    from layoutprobe.patterns import pattern_names

    assert main(["list", "patterns"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name} " in shown for name in pattern_names())
    assert main(["list", "schemes"]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines() if line[0] != " "] == list(SCHEMES)


def test_doctor_needs_a_compiler(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from layoutprobe.toolchain import doctor

    parts = [
        doctor.Part("compiler", True, "clang 22", "no"),
        doctor.Part("devices", False, "none here", "no silicon"),
    ]
    monkeypatch.setattr(doctor, "examine", lambda: parts)
    assert main(["doctor"]) == 0
    assert "without it: no silicon" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "examine", lambda: [doctor.Part("compiler", False, "none", "no probes")])
    assert main(["doctor"]) == 2
    assert "without it: no probes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("named", "native", "mark", "words"),
    [
        ("", True, "✓", "auto: C for launches of 64 waves"),
        ("", False, "✓", "auto: numpy, as there is no native one"),
        ("native", False, "✓", "native, as LAYOUTPROBE_ENGINE says: numpy"),
        ("numpy", True, "✓", "numpy, as LAYOUTPROBE_ENGINE says"),
        ("nunpy", True, "✗", "nunpy, as LAYOUTPROBE_ENGINE says: there is none"),
    ],
)
def test_doctor_says_which_engine_runs_and_why(
    named: str,
    native: bool,
    mark: str,
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ENVIRONMENT, named)
    monkeypatch.setattr(library, "examine", lambda: (native, "what was found"))
    main(["doctor"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{mark} engine {words}" in shown
