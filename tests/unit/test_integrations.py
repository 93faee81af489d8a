"""The GitHub action, the pre-commit hook, and what the documents show of them."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".github" / "check.sh"


def yaml(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(io.StringIO(text))


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_the_action_obeys_githubs_schema() -> None:
    schema = json.loads(
        files("check_jsonschema").joinpath("builtin_schemas/vendor/github-actions.json").read_text()
    )
    action = yaml((ROOT / "action.yml").read_text())
    jsonschema.validate(action, schema)
    assert action["runs"]["using"] == "composite"
    script = json.dumps(action["runs"]["steps"])
    assert not re.search(r'"run": "[^"]*\$\{\{', script), "an input in a script's text can be anybody's code"


def test_every_input_and_output_is_used_and_documented() -> None:
    text = (ROOT / "action.yml").read_text()
    action = yaml(text)
    for name in action["inputs"]:
        assert f"inputs.{name}" in text, name
    for name in re.findall(r"steps\.check\.outputs\.([a-z-]+)", text):
        assert f"{name}=" in SCRIPT.read_text(), name


def test_the_hook_runs_a_command_that_exists() -> None:
    (hook,) = yaml((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"] == "layoutprobe check"
    assert hook["pass_filenames"] is False
    for name in ("layoutprobe.toml", "kernels/layoutprobe.toml", "a/gemm.hip", "b.s", "c.hsaco", "d.h"):
        assert re.search(hook["files"], name), name
    for name in ("README.md", "mylayoutprobe.toml", "x.py"):
        assert not re.search(hook["files"], name), name


@pytest.mark.parametrize("document", ["README.md", "docs/integrations.md"])
def test_documents_show_the_hook_and_the_action_as_they_are(document: str) -> None:
    shown = [yaml(block) for block in blocks(document, "yaml")]
    (hook,) = yaml((ROOT / ".pre-commit-hooks.yaml").read_text())
    inputs = yaml((ROOT / "action.yml").read_text())["inputs"]
    hooks = [one for block in shown if "repos" in str(block) or _is_hooks(block) for one in _hooks(block)]
    assert hook["id"] in hooks
    steps = [step for block in shown if isinstance(block, list) for step in block if "uses" in step]
    used = [step for step in steps if "layoutprobe" in step["uses"]]
    assert used
    assert all(name in inputs for step in used for name in step["with"])


def _is_hooks(block: Any) -> bool:
    return isinstance(block, list) and any("hooks" in one for one in block)


def _hooks(block: Any) -> list[str]:
    repos = block["repos"] if isinstance(block, dict) else block
    return [hook["id"] for repo in repos for hook in repo.get("hooks", [])]


STUB = """#!{python}
import sys
arguments = sys.argv[1:]
assert arguments[0] == "check", arguments
print("::error::from a hostile kernel's name")
wanted = {files!r}
for at, word in enumerate(arguments):
    if word == "--report":
        name = arguments[at + 1]
        if name.rsplit("/", 1)[1] in wanted:
            open(name, "w").write("REPORT " + name.rsplit("/", 1)[1] + "\\n")
open({seen!r}, "w").write("\\n".join(arguments))
sys.exit({code})
"""

REPORTS = (
    "layoutprobe.json",
    "layoutprobe.sarif",
    "layoutprobe.html",
    "layoutprobe.md",
    "layoutprobe.github",
)


def run_script(
    folder: Path, code: int, reports: tuple[str, ...] = REPORTS, **environment: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, str], list[str]]:
    """What the script prints, its outputs, and the arguments that layoutprobe got."""
    seen, outputs, stub = folder / "seen", folder / "outputs", folder / "layoutprobe"
    stub.write_text(STUB.format(python=sys.executable, files=reports, seen=str(seen), code=code))
    stub.chmod(0o755)
    done = subprocess.run(
        ["bash", str(SCRIPT)],
        env={
            "PATH": os.environ["PATH"],
            "RUNNER_TEMP": str(folder),
            "LAYOUTPROBE_BIN": str(stub),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "MANIFEST": "layoutprobe.toml",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    said = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    return done, said, seen.read_text().splitlines()


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_verdict_is_handed_on_after_the_reports(tmp_path: Path, code: int) -> None:
    done, said, _ = run_script(tmp_path, code)
    assert done.returncode == 0
    assert said["exit-code"] == str(code)
    assert said["sarif"].endswith("layoutprobe.sarif")
    assert done.stdout.rstrip().endswith("REPORT layoutprobe.github")
    assert (tmp_path / "summary").read_text() == "REPORT layoutprobe.md\n"


def test_what_the_check_prints_is_no_workflow_command(tmp_path: Path) -> None:
    lines = run_script(tmp_path, 1)[0].stdout.splitlines()
    stop = next(line for line in lines if line.startswith("::stop-commands::"))
    token = stop.removeprefix("::stop-commands::")
    assert len(token) >= 32
    hostile = lines.index("::error::from a hostile kernel's name")
    assert lines.index(stop) < hostile < lines.index(f"::{token}::")


def test_without_a_report_the_annotation_says_so(tmp_path: Path) -> None:
    done, said, _ = run_script(tmp_path, 2, ())
    assert "::error title=layoutprobe::nothing could be checked" in done.stdout
    assert "sarif" not in said
    assert said["exit-code"] == "2"


def test_inputs_become_single_arguments(tmp_path: Path) -> None:
    _, _, arguments = run_script(
        tmp_path,
        0,
        MANIFEST="--help; rm -rf $(pwd)",
        KERNELS="standard\n\nwith space $(id)\n",
        ALLOW_REFERENCE="true",
    )
    assert arguments[-2:] == ["--", "--help; rm -rf $(pwd)"]
    chosen = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--kernel"]
    assert chosen == ["standard", "with space $(id)"]
    assert "--allow-reference" in arguments


def test_references_are_not_imported_unless_asked_for(tmp_path: Path) -> None:
    assert "--allow-reference" not in run_script(tmp_path, 0, ALLOW_REFERENCE="false")[2]


@pytest.mark.long
def test_the_base_is_compared_where_there_is_one(tmp_path: Path) -> None:
    origin, shallow = tmp_path / "origin", tmp_path / "shallow"
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]

    def git(*words: str, folder: Path = origin) -> str:
        return subprocess.run(
            ["git", "-C", str(folder), *named, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    origin.mkdir()
    git("init", "-q", "-b", "main")
    for number in range(2):
        git("commit", "-q", "--allow-empty", "-m", str(number))
    base = git("rev-parse", "HEAD~1")
    git("clone", "-q", "--depth=1", origin.as_uri(), str(shallow))

    def base_of(given: str) -> tuple[list[str], str]:
        done, _, arguments = run_script(tmp_path, 0, GIT_DIR=str(shallow / ".git"), BASE=given, STRICT="true")
        assert "--strict" in arguments
        return [arguments[i + 1] for i, word in enumerate(arguments) if word == "--base"], done.stdout

    assert base_of("f" * 40)[0] == []
    assert "was not compared" in base_of("f" * 40)[1]
    assert base_of(base)[0] == [base], "a checkout of one commit fetches it"
    for given in ("none", ""):
        assert base_of(given)[0] == []
        assert "not compared" not in base_of(given)[1]
    assert "--strict" not in run_script(tmp_path, 0)[2]
