"""Whether the live pages' packages and Node.js are there is found out, and never an accident (.ci/live_pages.py)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

CI = Path(__file__).resolve().parents[2] / ".ci"


@pytest.fixture
def live_pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(CI))
    found = importlib.util.spec_from_file_location("live_pages_under_test", CI / "live_pages.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("script", "enough"),
    [("echo v20.0.0", True), ("echo v18.19.1", False), ("echo nothing", False), ("exit 1", False)],
)
def test_a_node_is_asked_how_old_it_is(live_pages: ModuleType, tmp_path: Path, script: str, enough: bool) -> None:
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\n{script}\n")
    node.chmod(0o755)
    assert live_pages.new_enough(str(node)) is enough


def test_a_node_that_was_made_for_another_machine_is_none(live_pages: ModuleType, tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.write_bytes(b"\x7fELF of another machine")
    node.chmod(0o755)
    assert not live_pages.new_enough(str(node))


@pytest.mark.parametrize(
    ("installed", "matches"),
    [
        ({"node_modules/three": {"integrity": "right"}}, True),
        ({"node_modules/three": {"integrity": "wrong"}}, False),
        ({}, False),
        (None, False),
        ("cut off", False),
    ],
)
def test_packages_are_installed_where_npm_says_what_the_lock_says(
    live_pages: ModuleType, tmp_path: Path, installed: object, matches: bool
) -> None:
    optional = {"integrity": "another machine's", "optional": True}
    due = {"": {}, "node_modules/three": {"integrity": "right"}, "node_modules/binary": optional}
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": due}))
    if installed is not None:
        (tmp_path / "node_modules").mkdir()
        text = json.dumps({"packages": installed})
        npms_own = tmp_path / "node_modules" / ".package-lock.json"
        npms_own.write_text(text[:-5] if installed == "cut off" else text)
    assert live_pages.match_the_lock(tmp_path) is matches
