"""Rules of findings: their ids are stable, every one has words, and no finding goes without."""

from __future__ import annotations

import ast
import gc
import importlib
import pkgutil
from pathlib import Path

import pytest

import layoutprobe
from layoutprobe.checks.base import Check
from layoutprobe.checks.registry import CHECKS, RULES, find_check, find_rule, rules_of
from layoutprobe.errors import UsageError
from layoutprobe.report.finding import Rule

PACKAGE = Path(layoutprobe.__file__).parent
STABLE = Path(__file__).with_name("rule_ids.txt")
"""Every id that was ever released: reports, manifests and code scanning refer to them."""


def test_ids_are_unique_and_stable() -> None:
    """A new rule is a new line. A line that goes, or changes, breaks what others have written down."""
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)
    assert sorted(ids) == STABLE.read_text("utf-8").split()


def test_rules_belong_to_their_checks() -> None:
    for check in CHECKS:
        assert check.rules, check.name
        assert {rule.check for rule in check.rules} == {check.name}
        assert set(check.rules) <= set(rules_of(check.name))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_explains_itself(rule: Rule) -> None:
    assert rule.title == rule.title.rstrip(".")
    assert len(rule.title) < 110
    assert rule.why.endswith(".")
    assert rule.mend
    assert find_rule(rule.id) is rule


def test_every_rule_of_the_package_is_registered() -> None:
    """Also one that a module makes and nobody lists."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "layoutprobe."):
        if ".include" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    listed = {id(rule) for rule in RULES} | {id(r) for r in _of_tests()}
    gc.collect()  # what other tests made, and nobody holds, may lie there still
    made = {rule.id for rule in gc.get_objects() if isinstance(rule, Rule) and id(rule) not in listed}
    assert made <= {rule.id for rule in RULES}


def _of_tests() -> list[Rule]:
    """Rules that other test modules of this process made up."""
    import sys

    own = [m for name, m in list(sys.modules.items()) if m is not None and not name.startswith("layoutprobe")]
    found = [value for module in own for value in vars(module).values()]
    return [v for v in found if isinstance(v, Rule)]


def test_no_finding_is_made_with_a_bare_text() -> None:
    """What stands first in Finding(...) is a name or an entry of a table; never a literal."""
    made = 0
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                made += 1
                assert isinstance(node.args[0], ast.Name | ast.Subscript | ast.IfExp), f"{path}:{node.lineno}"
    assert made >= 25


def test_unknown_rules_are_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        find_rule("waits/lds-at-barier")
    assert caught.value.hint == "did you mean waits/lds-at-barrier?"
    assert "waits/read-before-wait" in str(caught.value.expected)
    assert isinstance(find_check("waits"), Check)
