"""Findings that are let pass, with a reason and until a day: in a manifest, or in a baseline file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path

from layoutprobe.errors import did_you_mean
from layoutprobe.manifest.model import Acceptance
from layoutprobe.manifest.section import Section
from layoutprobe.reading import parse_toml, read_bounded

MOST = 256
_LINE = "FILE:LINE as reports name it; leave it out where the finding has none"
_LARGEST_BASELINE = 1 << 20
_HEAD = """\
# Findings that were there when the gate was adopted: `layoutprobe check --baseline` lets them pass until their day,
# and fails for those that are gone. Written by `layoutprobe check --write-baseline`.
"""


def read_acceptances(table: Section, rules: Collection[str]) -> tuple[Acceptance, ...]:
    """The `accept` tables of a kernel."""
    return tuple(_acceptance(each, rules) for each in table.tables("accept", most=MOST))


def _acceptance(table: Section, rules: Collection[str], *, baseline: bool = False) -> Acceptance:
    rule = table.text("rule", "the rule of a finding: CHECK/NAME", r"[\w-]{1,64}/[\w-]{1,64}")
    if rules and rule not in rules:
        table.fail(
            "rule", "the rule of a finding; `layoutprobe explain CHECK` lists them", did_you_mean(rule, rules)
        )
    until = table.get("until")
    if type(until) is not date or isinstance(until, datetime):
        table.fail("until", "the last day on which it passes, without quotes: 2027-01-31")
    found = Acceptance(
        rule=rule,
        line=table.text(
            "line",
            _LINE,
            r"[^\0\n]*:\d+",
            "",
        ),
        reason=table.text("reason", "why it may pass", r"(?s)\s*\S.*"),
        until=until,
        arch=table.text("arch", "a target", r"\w*", ""),
        baseline=baseline,
    )
    if not baseline:
        table.finish()
    return found


def read_baseline(path: Path) -> dict[str, tuple[Acceptance, ...]]:
    """Name of a kernel -> what is let pass in it.

    Raises:
        UsageError: no such file, or none of a baseline.
    """
    hint = "`layoutprobe check --write-baseline FILE` writes one"
    raw = read_bounded(path, "baseline", _LARGEST_BASELINE, hint)
    top = Section(parse_toml(raw, path, "baseline", hint), path)
    found: dict[str, tuple[Acceptance, ...]] = {}
    for table in top.tables("finding", most=4096):
        kernel = table.text("kernel", "the name of a kernel", r"[^\0\n]+")
        found[kernel] = (*found.get(kernel, ()), _acceptance(table, (), baseline=True))
        table.finish()
    top.finish()
    return found


def baseline_text(kernels: Mapping[str, Sequence[Acceptance]]) -> str:
    """The text of a baseline file. JSON's strings are TOML's, but for DEL."""
    parts = [_HEAD]
    for kernel, accepted in kernels.items():
        for one in accepted:
            named = {
                "kernel": kernel,
                "arch": one.arch,
                "rule": one.rule,
                "line": one.line,
                "reason": one.reason,
            }
            parts.append("[[finding]]")
            parts += [f"{key} = {_text(value)}" for key, value in named.items() if value]
            parts += [f"until = {one.until.isoformat()}", ""]
    return "\n".join(parts)


def _text(value: str) -> str:
    return json.dumps(value).replace("\x7f", "\\u007f")
