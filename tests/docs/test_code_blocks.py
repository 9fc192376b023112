"""Every code block of README.md, CONTRIBUTING.md, docs/ and examples/ runs alone: blocks.py."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, Block, blocks, run_python


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def failures(*options: str) -> dict[str, list[str]]:
    """Return the failures on each page."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.blocks", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        page, number, failure = json.loads(line)
        found.setdefault(page, []).extend([f"{page}:{number}\n{failure}"] if failure else [])
    return found


@pytest.fixture(scope="module")
def in_forks() -> dict[str, list[str]]:
    return failures()


@pytest.mark.slow
@pytest.mark.timeout(1200)  # the first one runs all blocks, which takes minutes on a busy machine
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_code_blocks_run(page, in_forks):
    """Each block runs in a fork of one process and in a folder of its own."""
    assert not in_forks.get(name(page)), "\n".join(in_forks[name(page)])
    missing = {library for block in blocks(page) for library in block.missing}
    if missing:
        pytest.skip(f"blocks need {', '.join(sorted(missing))}")


@pytest.mark.soak
def test_code_blocks_run_in_new_processes():
    found = failures("--fresh")
    assert found
    assert not any(found.values()), found


def test_there_are_twelve_recipes():
    page = ROOT / "docs" / "recipes.md"
    assert len([block for block in blocks(page) if block.language == "python"]) >= 12
    assert len(re.findall(r"^## ", page.read_text(), flags=re.M)) == len(blocks(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


def set_up_blocks() -> list[Block]:
    return [block for block in blocks(ROOT / "README.md") if "-m venv" in block.text]


def test_the_readme_has_the_two_commands():
    first, second = set_up_blocks()
    collect, test = first.text.strip(), second.text.strip()
    assert "\n" not in collect and "\n" not in test
    assert collect.startswith('python3 -m venv .venv && .venv/bin/pip install ".[all]" && ')
    assert test.startswith('python3 -m venv .venv && .venv/bin/pip install -e ".[all,test]" && ')
    assert test.endswith(".venv/bin/pytest -n logical --dist loadfile")
    words = shlex.split(collect.rsplit("&&", 1)[1])
    assert words[:5] == [".venv/bin/gymcore", "collect", "CartPole-v1", "--num-envs", "64"]


def test_the_readmes_collect_command_runs(tmp_path):
    (line,) = set_up_blocks()[0].text.splitlines()
    words = shlex.split(line.rsplit("&&", 1)[1])[1:]
    words[words.index("--num-steps") + 1] = "64_000"
    done = subprocess.run(
        [sys.executable, "-m", "gymcore", *words, "--no-progress"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert "64 lanes x 1000 steps" in done.stdout
    assert "M steps/s" in done.stdout or "k steps/s" in done.stdout


def test_a_wrong_output_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n")
    (block,) = blocks(page)
    with pytest.raises(AssertionError, match="Expected"):
        run_python(block)
