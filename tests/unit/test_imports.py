"""The direction of imports: the table in ARCHITECTURE.md, read from there and enforced.

`machine` and its like are rooms (directories), `report.py` and its like are modules. A room may
import itself, `errors.py` (whose one type every room may raise), `brief.py` (which prints
records), `text.py` (which makes others' words safe to print), and what its row
names; "all above" and "all" mean what they say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from msgspec import Struct

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "layoutprobe"

# The package's front door gathers names for library users; `python -m` calls the command line.
FRONT_DOORS = {"__init__", "__main__"}
FOUNDATION = ("errors", "brief", "text")
SOLVER_NEVER = {"arch", "semantics", "machine", "probing", "backends", "isa", "toolchain", "codeobj"}
TARGET_NAME = re.compile(r"gfx\d+[0-9a-f]*", re.IGNORECASE)


@cache
def parsed(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a module; every law here asks the whole package for them."""
    return tuple(ast.walk(ast.parse(text)))


class Import(Struct, frozen=True):
    """One import statement: `target` is a room of layoutprobe or a top-level package outside."""

    file: Path
    line: int
    room: str
    target: str
    inside: bool
    lazy: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.room} imports {self.target}"


def room_of(path: Path) -> str:
    """Room of a module: "machine" for machine/wave.py, "report" for report.py."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _targets(node: ast.Import | ast.ImportFrom, path: Path) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif node.level:
        base = path.relative_to(ROOT).with_suffix("").parts[: -node.level]
        stem = ".".join((*base, *filter(None, [node.module])))
        names = [f"{stem}.{alias.name}" for alias in node.names] if stem == "layoutprobe" else [stem]
    elif node.module == "layoutprobe":
        names = [f"layoutprobe.{alias.name}" for alias in node.names]
    else:
        names = [node.module or ""]
    for name in names:
        parts = name.split(".")
        inside = parts[0] == "layoutprobe"
        yield (parts[1] if inside and len(parts) > 1 else parts[0]), inside


def imports_in(text: str, path: Path) -> list[Import]:
    """Every import in a module's text, those inside functions marked lazy."""
    lazy = {
        child
        for function in parsed(text)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.walk(function)
    }
    return [
        Import(path, node.lineno, room_of(path), target, inside, node in lazy)
        for node in parsed(text)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target, inside in _targets(node, path)
    ]


@cache
def all_imports() -> list[Import]:
    return [found for path in sources() for found in imports_in(path.read_text("utf-8"), path)]


def allowed_table() -> dict[str, set[str]]:
    """Room -> rooms it may import, from the table in ARCHITECTURE.md."""
    table: dict[str, set[str]] = {}
    for line in (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines():
        row = re.fullmatch(r"\| `([a-z_]+)(?:/|\.py)`[^|]*\|[^|]*\|([^|]*)\|", line)
        if row is None:
            continue
        room, words = row[1], row[2].strip()
        if words in ("all", "all above"):
            table[room] = set(table)
        elif words == "nothing":
            table[room] = set()
        else:
            table[room] = {word.strip().removesuffix(".py") for word in words.split(",")}
    return table


def violations(found: list[Import], table: dict[str, set[str]]) -> list[str]:
    wrong = []
    for imported in found:
        room, target = imported.room, imported.target
        if not imported.inside or room in FRONT_DOORS or target in (room, *FOUNDATION, "layoutprobe"):
            continue
        if target == "__version__":
            continue
        if target not in table.get(room, set()):
            wrong.append(str(imported))
    return wrong


def module_graph(texts: dict[str, str]) -> dict[str, set[str]]:
    """Module -> modules that it imports, lazily and under TYPE_CHECKING included.

    The package's front door gathers what the others make: that it imports them, and they its version, is
    no circle. That a submodule runs its package first does not count either.

    Args:
        texts: module's dotted name -> source; a package's own ends in ".__init__".
    """
    modules = {name.removesuffix(".__init__") for name in texts}
    graph: dict[str, set[str]] = {}
    for name, text in texts.items():
        package = name.split(".")[:-1]
        found = set()
        for node in parsed(text):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) + 1 - node.level] if node.level else []
                stem = ".".join((*base, *filter(None, [node.module])))
                whole = {f"{stem}.{alias.name}" for alias in node.names}
                found |= {full if full in modules else stem for full in whole}
        own = name.removesuffix(".__init__")
        graph[own] = found & modules - {own, "layoutprobe"}
    del graph["layoutprobe"]
    return graph


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, the first one again at the end; [] where there is none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if circle := walk(other, [*path, name]):
                return circle
        done.add(name)
        return []

    return next((circle for name in sorted(graph) if (circle := walk(name, []))), [])


def package_texts() -> dict[str, str]:
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text("utf-8") for path in sources()
    }


def code_strings(text: str) -> Iterator[tuple[int, str]]:
    """String literals of a module, without docstrings."""
    docstrings = set()
    for node in parsed(text):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                docstrings.add(statement.value)
    for node in parsed(text):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.lineno, node.value


def test_table_lists_every_room() -> None:
    table = allowed_table()
    assert {"errors", "solver", "render", "cli", "machine", "experiments"} <= set(table)
    empty = {room_of(path) for path in sources() if not path.read_text("utf-8").strip(' "\n')}
    rooms = {room_of(path) for path in sources()} - FRONT_DOORS - empty
    assert rooms <= set(table), "rooms without a row in ARCHITECTURE.md"


def test_imports_follow_the_table() -> None:
    wrong = violations(all_imports(), allowed_table())
    assert not wrong, "against the table in ARCHITECTURE.md:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("solver/fit.py", "from layoutprobe.arch import target"),
        ("solver/fit.py", "from layoutprobe import machine"),
        ("solver/fit.py", "def f():\n    import layoutprobe.semantics.wmma"),
        ("solver/fit.py", "from ..backends import base"),
        ("layouts/layout.py", "from .. import report"),
        ("render/table.py", "from layoutprobe.solver.fit import x"),
        ("report/layout.py", "from layoutprobe.gate import gate"),
        ("report/layout.py", "def f():\n    from layoutprobe.render.layout import html"),
    ],
)
def test_a_wrong_import_is_seen(file: str, text: str) -> None:
    """The guard can fail: each of these would break the direction."""
    assert len(violations(imports_in(text, PACKAGE / file), allowed_table())) == 1


def test_no_modules_import_each_other() -> None:
    graph = module_graph(package_texts())
    assert len(graph["layoutprobe.engine.numpy_engine"]) > 5, "the scan sees imports"
    assert circle_in(graph) == [], "modules that import each other"


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("machine.registers", "from layoutprobe.machine.cohort import Cohort"),
        ("machine.machine", "if TYPE_CHECKING:\n    from layoutprobe.machine.cohort import Cohort"),
        ("errors", "def f():\n    from layoutprobe.machine import program"),
        ("machine.memory", "import layoutprobe.machine.cohort"),
        ("machine.events", "from .observer import Observer"),
        ("isa.inst", "from ..machine.cohort import Cohort"),
    ],
)
def test_a_planted_circle_is_seen(module: str, line: str) -> None:
    texts = package_texts()
    texts[f"layoutprobe.{module}"] += f"\n{line}\n"
    circle = circle_in(module_graph(texts))
    assert f"layoutprobe.{module}" in circle


def test_solver_never_imports_what_it_should_prove() -> None:
    assert not SOLVER_NEVER & allowed_table()["solver"], "the table itself lets the solver cheat"
    assert [str(i) for i in all_imports() if i.room == "solver" and i.target in SOLVER_NEVER] == []


def test_rich_only_in_render() -> None:
    assert [str(i) for i in all_imports() if i.target == "rich" and i.room != "render"] == []
    assert any(i.target == "rich" for i in all_imports()), "the scan sees render's own imports"


def test_targets_are_named_in_arch_only() -> None:
    named = [
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in sources()
        if room_of(path) != "arch"
        for line, text in code_strings(path.read_text("utf-8"))
        if TARGET_NAME.search(text)
    ]
    assert named == []


def test_target_scan_reads_code_and_not_docstrings() -> None:
    text = '"""gfx1151 in a docstring."""\n# gfx1151 in a comment\nX = f"on gfx1151 {1}"\n'
    assert [line for line, literal in code_strings(text) if TARGET_NAME.search(literal)] == [3]
