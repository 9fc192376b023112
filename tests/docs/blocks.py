"""The code blocks of README.md, CONTRIBUTING.md, docs/ and examples/, and how they run.

    python -m tests.docs.blocks            every block, alone, in a fork of this process
    python -m tests.docs.blocks --fresh    every block, alone, in a new process of Python

Prints a line of JSON for each block: its page, its line, and the error or None. A block runs
in an empty folder.

- `python` blocks run unchanged; blocks with `>>>` run as doctests. Windows that blocks open are
closed. Blocks that import a missing library are skipped: `missing` names it.
- `bash` blocks run line by line, if their program may run in a test (gymcore and the
project's scripts); in others, the files and options that they name are checked.
- `cython`, `py` and `toml` blocks occur verbatim in examples/kernel_package, which has a test,
or in the physics of CartPole.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import json
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
TIMEOUT = 300.0  # seconds for a block, on a busy machine

# Lines that a test does not run: they install, take minutes, need an installation, or run examples,
# which tests/build/test_examples.py runs for fewer steps.
NOT_RUN = (
    "python3 -m venv", ".venv/bin/", "pip install", "pytest", "ruff", "mypy", "cython-lint",
    ".ci/", "python -m build", "python benchmarks/", "python tools/measured_ratios.py",
    "python examples/", "python tools/soak.py", "GYMCORE_", "gymcore bench",
    "python -m gymcore collect docking:",
)  # fmt: skip
EXCERPTS = ("cython", "py", "toml")
# Libraries that the extra "test" does not install.
LIBRARIES = {
    "dm_env", "h5py", "jax", "minari", "optuna", "pettingzoo", "pufferlib", "pyarrow", "ray",
    "rl_games", "skrl", "stable_baselines3", "tensorboardX", "tianshou", "torch", "torchrl",
    "wandb",
}  # fmt: skip
# Imported once and not in each fork, where they are installed.
PRELOAD = (
    *("gymcore.cli", "gymcore.envs.classic_control", "gymcore.vector.async_vector_env"),
    *("ale_py", "Box2D", "gymnasium", "mujoco", "pettingzoo", "pygame", "torch"),
)
CLOSING = """
import threading, time
def close_windows():
    import pygame
    while True:
        time.sleep(0.2)
        if pygame.display.get_init():
            pygame.event.post(pygame.event.Event(pygame.QUIT))
threading.Thread(target=close_windows, daemon=True).start()
"""


class Block(NamedTuple):
    """A fenced block: its page, its language, its text, and its first line."""

    page: Path
    language: str
    text: str
    line: int

    @property
    def missing(self) -> list[str]:
        """Return the imports that are not installed."""
        names = set(re.findall(r"^(?:>>> )?(?:from|import) (\w+)", self.text, flags=re.M))
        if '"ray"' in self.text or "gymcore.distributed" in self.text:
            names.add("ray")
        if "--dataset" in self.text or "DatasetWriter" in self.text:
            names.add("h5py")
        if "ray.rllib" in self.text:
            names.add("pyarrow")  # which ray[rllib] installs
        if "TensorBoardLog" in self.text:
            names.add("tensorboardX")
        if "phys2d/" in self.text:
            names.add("jax")
        found = {name for name in LIBRARIES & names if not importlib.util.find_spec(name)}
        if "AddRenderObservation" in self.text and "dm_control/" in self.text and not has_opengl():
            found.add("OpenGL")
        return sorted(found)


def has_opengl() -> bool:
    """Return whether the libraries of one backend for MuJoCo's frames are installed."""
    from gymcore.envs.mujoco.gl_backend import _missing

    return None in map(_missing, ("glfw", "egl", "osmesa"))


def blocks(page: Path) -> list[Block]:
    source = page.read_text()
    found = re.finditer(r"^```(\S*)\n(.*?)^```$", source, flags=re.M | re.S)
    return [Block(page, m[1], m[2], source.count("\n", 0, m.start(2)) + 1) for m in found]


def run_python(block: Block) -> None:
    if "play(" in block.text:
        exec(CLOSING, {})
    if ">>>" not in block.text:
        # Blank lines in front make tracebacks show the page's line numbers.
        source = "\n" * (block.line - 1) + block.text
        # Without this module's own `from __future__ import annotations`.
        code = compile(source, str(block.page), "exec", dont_inherit=True)
        exec(code, {"__name__": "page"})
        return
    name = f"{block.page.name}:{block.line}"
    test = doctest.DocTestParser().get_doctest(block.text, {}, name, str(block.page), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def run_shell(block: Block) -> None:
    for line in block.text.replace("\\\n", " ").splitlines():
        command = line.split("  #")[0].strip()
        if not command or command.startswith("#"):
            continue
        if command.startswith(NOT_RUN):
            check_unrun(command)
            continue
        words = shlex.split(command)
        if words[0] == "gymcore":  # in this process: tests/cli/test_process tests its start
            from gymcore.cli import main

            if words[1] == "play":
                exec(CLOSING, {})
            if words[1] == "train" and "--total-steps" in words:  # learning takes seconds
                words.append(f"--total-steps={int(words[words.index('--total-steps') + 1]) // 4}")
            elif words[1] == "train":
                words += ["--target=30", "--total-steps=5000"]  # the target of CartPole
            assert main(words[1:]) == 0, command
            continue
        assert words[0] == "python", f"what is {words[0]!r}? Run it here, or add it to NOT_RUN"
        words = [sys.executable, *words[1:]]
        if words[1].endswith(".py"):
            words[1] = str(ROOT / words[1])
        subprocess.run(words, check=True, timeout=TIMEOUT, stdout=subprocess.DEVNULL)


def check_unrun(command: str) -> None:
    """Check that everything named in a line that is not run exists."""
    pyproject = (ROOT / "pyproject.toml").read_text()
    for extras in re.findall(r"\[([\w,-]+)\]", command):
        for extra in extras.split(","):
            assert re.search(rf"^{extra} = \[", pyproject, flags=re.M), f"{command}: no {extra}"
    for path in re.findall(r"(?:^|\s)((?:tests|benchmarks|docs|examples|\.ci)/[\w./-]*)", command):
        assert (ROOT / path).exists(), f"{command}: no {path}"


def example_sources() -> list[str]:
    package = ROOT / "examples" / "kernel_package"
    suffixes = (".py", ".pyx", ".toml")
    sources = [path for path in package.rglob("*") if path.suffix in suffixes]
    sources.append(ROOT / "gymcore_ext" / "physics" / "cartpole.pyx")
    return [path.read_text() for path in sources]


def run(block: Block) -> None:
    """Run a block in this process and the current folder."""
    if block.language == "python":
        with warnings.catch_warnings():
            if re.search(rf"\b({'|'.join(LIBRARIES)})\b", block.text):
                warnings.simplefilter("ignore")  # of other libraries
            run_python(block)
    elif block.language == "bash":
        run_shell(block)
    elif block.language in EXCERPTS:
        assert any(block.text in source for source in example_sources()), block.text
    else:
        assert block.language == "text", block.language


def run_and_report(block: Block, folder: str) -> None:
    """Run a block in a fork: write a file `failure` if the block raises."""
    os.chdir(folder)
    with (
        open(os.devnull, "w") as nothing,
        contextlib.redirect_stdout(nothing),
        contextlib.redirect_stderr(nothing),
    ):
        try:
            run(block)
        except BaseException:
            Path(folder, "failure").write_text(traceback.format_exc())


def failure_in_fork(block: Block, folder: str) -> str | None:
    process = multiprocessing.get_context("fork").Process(
        target=run_and_report, args=(block, folder)
    )
    process.start()
    process.join(TIMEOUT)
    if process.is_alive():
        process.kill()
        return f"took more than {TIMEOUT:g} s"
    failure = Path(folder, "failure")
    if failure.exists():
        return failure.read_text()
    return None if process.exitcode == 0 else f"ended with exit code {process.exitcode}"


def failure_in_new_process(block: Block, folder: str) -> str | None:
    """Run a block in a new Python as a script, or by its module doctest."""
    if block.language == "python" and ">>>" in block.text:
        script, options = "block.txt", ["-m", "doctest", "-o", "NORMALIZE_WHITESPACE"]
        text = block.text
    elif block.language == "python":
        script, options = "block.py", []
        text = CLOSING * ("play(" in block.text) + block.text
    else:
        return failure_in_fork(block, folder)
    Path(folder, script).write_text(text)
    done = subprocess.run(
        [sys.executable, *options, script],
        cwd=folder,
        timeout=TIMEOUT,
        text=True,
        capture_output=True,
    )
    return done.stdout + done.stderr if done.returncode else None


def results(fresh: bool) -> Iterator[tuple[Block, str | None]]:
    for page in PAGES:
        for block in blocks(page):
            if block.missing:
                continue
            with tempfile.TemporaryDirectory(prefix="docs-", ignore_cleanup_errors=True) as folder:
                fail = failure_in_new_process if fresh else failure_in_fork
                yield block, fail(block, folder)


def main() -> None:
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    os.environ["MPLBACKEND"] = "Agg"
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # waiting threads take processor time
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.setdefault("GYMCORE_JIT", "0")  # compiling a class takes seconds
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    )
    for name in PRELOAD:
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    for block, failure in results("--fresh" in sys.argv):
        place = block.page.relative_to(ROOT).as_posix()
        print(json.dumps([place, block.line, failure]), flush=True)


if __name__ == "__main__":
    main()
