"""Every code block of README.md, CONTRIBUTING.md, docs/ and examples/ runs, and says what it shows.

- `python` blocks run in the order of the page, in one namespace; those with `>>>` as doctests. The
  window of one that plays is closed.
- `bash` blocks run line by line, if their program is one that may run in a test (gymcore and the
  project's scripts); the others are checked for what they name.
- `cython`, `py` and `toml` blocks stand word for word in examples/kernel_package, which has a test.
- Blocks that import a library which the tests do not require run where it is installed
  (`.ci/ecosystem`); where it is not, the page is skipped, after its other blocks have run.
- Pages run in a folder of their own, so that a block may use files that an earlier one wrote.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import pytest

import gymcore
import gymcore.cli
from tests.distributed import local_ray
from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
FLAGS = doctest.NORMALIZE_WHITESPACE

# Lines that a test does not run, because they install, take minutes or need what was installed.
NOT_RUN = (
    "python3 -m venv", ".venv/bin/", "pip install", "pytest", "ruff", "mypy", "cython-lint",
    ".ci/", "python -m build", "python benchmarks/", "python tools/measured_ratios.py",
    "python tools/soak.py", "GYMCORE_", "gymcore bench", "python -m gymcore collect docking:",
)  # fmt: skip


# What a page needs beside the extra "test": without it the page is skipped.
NEEDS = {
    "cluster.md": local_ray.start,
    "own_environments.md": lambda: os.environ.setdefault("GYMCORE_JIT", "0"),
}
EXCERPTS = ("cython", "py", "toml")
# Libraries of others, which no extra installs.
LIBRARIES = {
    "dm_env", "pettingzoo", "pufferlib", "ray", "rl_games", "skrl", "stable_baselines3",
    "tianshou", "torch", "torchrl",
}  # fmt: skip


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line of the page that it begins on."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    found = re.finditer(r"^```(\S*)\n(.*?)^```$", page.read_text(), flags=re.M | re.S)
    source = page.read_text()
    return [Block(m[1], m[2], source.count("\n", 0, m.start(2)) + 1) for m in found]


@contextlib.contextmanager
def closing_its_window() -> Iterator[None]:
    """Close the window that a block opens, again and again until the block is over."""
    import pygame

    over = threading.Event()

    def close() -> None:
        while not over.wait(0.2):
            if pygame.display.get_init():
                pygame.event.post(pygame.event.Event(pygame.QUIT))

    thread = threading.Thread(target=close)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def libraries(block: Block) -> set[str]:
    return LIBRARIES & set(re.findall(r"^(?:>>> )?(?:from|import) (\w+)", block.text, flags=re.M))


def run_python(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    name = f"{page.name}:{block.line}"
    if ">>>" not in block.text:
        # Blank lines in front make tracebacks show the line of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(block.text, namespace, name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    namespace.update(test.globs)
    assert not runner.failures, "".join(report)


def run_shell(block: Block, folder: Path) -> None:
    for line in block.text.replace("\\\n", " ").splitlines():
        command = line.split("  #")[0].strip()
        if not command or command.startswith("#"):
            continue
        if command.startswith(NOT_RUN):
            check_unrun(command)
            continue
        words = shlex.split(command)
        if words[0] == "gymcore":  # in this process: its start is tested in tests/cli/test_process
            assert gymcore.cli.main(words[1:]) == 0, command
            continue
        assert words[0] == "python", f"what is {words[0]!r}? Run it here, or add it to NOT_RUN"
        words = [sys.executable, *words[1:]]
        if words[1].endswith(".py"):
            words[1] = str(ROOT / words[1])
        subprocess.run(words, cwd=folder, check=True, timeout=60, stdout=subprocess.DEVNULL)


def example_sources() -> list[str]:
    package = ROOT / "examples" / "kernel_package"
    suffixes = (".py", ".pyx", ".toml")
    return [path.read_text() for path in package.rglob("*") if path.suffix in suffixes]


def check_unrun(command: str) -> None:
    """What a line that is not run names must be there."""
    for extras in re.findall(r"\[([\w,-]+)\]", command):
        for extra in extras.split(","):
            assert re.search(rf"^{extra} = \[", PYPROJECT, flags=re.M), f"{command}: no {extra}"
    for path in re.findall(r"(?:^|\s)((?:tests|benchmarks|docs|\.ci)/[\w./-]*)", command):
        assert (ROOT / path).exists(), f"{command}: no {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_blocks_run(page, tmp_path, monkeypatch):
    NEEDS.get(page.name, lambda: None)()
    monkeypatch.chdir(tmp_path)
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONPATH", search)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("MPLBACKEND", "Agg")  # of the programs; here it may be too late
    matplotlib.use("agg")
    namespace: dict[str, Any] = {"__name__": "page"}
    missing: set[str] = set()
    for block in blocks(page):
        needed = {name for name in libraries(block) if importlib.util.find_spec(name) is None}
        if needed:
            missing |= needed
        elif libraries(block):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run_python(block, page, namespace)
        elif block.language == "python":
            with closing_its_window() if "play(" in block.text else contextlib.nullcontext():
                run_python(block, page, namespace)
        elif block.language == "bash":
            run_shell(block, tmp_path)
        elif block.language in EXCERPTS:
            assert any(block.text in source for source in example_sources()), block
        else:
            assert block.language == "text", block
    if missing:
        pytest.skip(f"blocks need {', '.join(sorted(missing))}")


@for_each("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


def set_up_blocks() -> list[Block]:
    return [block for block in blocks(ROOT / "README.md") if block.language == "bash"][:2]


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


@pytest.mark.filterwarnings("ignore:.*CartPole-v0 is out of date:DeprecationWarning")
def test_the_parameters_of_the_environment_pages_are_those_of_the_environments():
    page = (ROOT / "docs" / "environments" / "classic_control.md").read_text()
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        ids = re.findall(r"\b[A-Z]\w+-v\d\b", section.split("\n", 1)[0])
        for env_id in ids:
            env = gymcore.make(env_id).unwrapped
            rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, flags=re.M)
            written = {name: ast.literal_eval(value) for name, value in rows}
            assert written.keys() == type(env).parameters.keys(), env_id
            for name, value in written.items():
                assert getattr(env, name) == value, (env_id, name)


def test_a_wrong_output_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n")
    (block,) = blocks(page)
    with pytest.raises(AssertionError, match="Expected"):
        run_python(block, page, {})
