"""Draws the pictures of the README from the commands themselves.

python docs/make_screenshots.py          writes docs/images/*.svg
python docs/make_screenshots.py --check  exits with 1 where a picture is out of date
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from layoutprobe.cli.main import parser
from layoutprobe.cli.probes import report_of
from layoutprobe.inspector.inspect import inspect
from layoutprobe.render import formats
from layoutprobe.render.layout.view import select
from layoutprobe.render.terminal_svg import terminal_svg

IMAGES = Path(__file__).resolve().parent / "images"

TERMINALS = {"dump-a-xor.svg": "dump --matrix A --lds xor"}
"""File name -> command whose terminal output it shows."""

LAYOUTS = {"fragment-a.svg": "dump --matrix A --lds xor", "fragment-b.svg": "dump --matrix B --lds xor"}
"""File name -> command whose layout map (--format svg) it shows."""


OPERANDS = {"inspect.svg": ("probes/gemm/seeds/buggy.toml", "asmOpt-column", "A")}
"""File name -> manifest, kernel and matrix: the same for an operand of a kernel."""


def pictures() -> dict[str, str]:
    """File name -> SVG."""
    drawn = {}
    for name, command in TERMINALS.items():
        report = report_of(parser().parse_args(command.split()))
        drawn[name] = terminal_svg(report, f"layoutprobe {command}")
    for name, command in LAYOUTS.items():
        stream = io.StringIO()
        report = report_of(parser().parse_args(command.split()))
        formats.find("layout", "svg").write(select(report), stream)
        drawn[name] = stream.getvalue()
    for name, (manifest, kernel, matrix) in OPERANDS.items():
        stream = io.StringIO()
        operand = inspect(IMAGES.parents[1] / manifest, kernel).operand(matrix)
        formats.find("layout", "svg").write(select(operand), stream)
        drawn[name] = stream.getvalue()
    return drawn


def main(check: bool) -> int:
    """Write the pictures, or compare them with those that are there."""
    stale = []
    IMAGES.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        path = IMAGES / name
        if not path.exists() or path.read_text("utf-8") != svg:
            stale.append(name)
            if not check:
                path.write_text(svg, encoding="utf-8")
    print(f"{'out of date' if check else 'written'}: {', '.join(stale) or 'none'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
