"""The built site in a headless browser: pages load, images show, search works, a phone fits.

Needs the extra "docs", Playwright and a Chromium (Playwright's own, or one on
PATH): `pip install ".[docs]" playwright`, `playwright install --with-deps chromium`, or
`apt install chromium`. Then `pytest -m soak tests/docs/test_site.py`.
"""

from __future__ import annotations

import functools
import html
import http.server
import importlib
import inspect
import json
import re
import shutil
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
PHONE = {"width": 360, "height": 740}
LAPTOP = {"width": 1400, "height": 900}
# Classes whose names a search must find.
NAMESPACES = (
    "gymcore", "gymcore.compat", "gymcore.distributed", "gymcore.environment", "gymcore.error",
    "gymcore.experimental", "gymcore.interop.dm_env", "gymcore.interop.gymnasium",
    "gymcore.interop.pettingzoo", "gymcore.interop.rl_games", "gymcore.interop.sb3",
    "gymcore.interop.tianshou", "gymcore.interop.torchrl", "gymcore.jit", "gymcore.learn",
    "gymcore.remote", "gymcore.spaces", "gymcore.utils", "gymcore.utils.env_checker",
    "gymcore.utils.env_match", "gymcore.utils.performance", "gymcore.utils.play",
    "gymcore.utils.save_video", "gymcore.utils.seeding", "gymcore.vector", "gymcore.vector.utils",
    "gymcore.wrappers", "gymcore.wrappers.vector",
)  # fmt: skip
PATIENCE = 120_000  # ms: the API page can exceed the default of 30 s on a busy machine

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]  # a busy machine takes minutes


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(built_site) -> Iterator[str]:
    """Yield the address of the site."""
    handler = functools.partial(Quiet, directory=str(built_site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        own = Path(started.chromium.executable_path).exists()
        path = None if own else shutil.which("chromium") or shutil.which("google-chrome")
        if not own and path is None:
            pytest.skip("there is no Chromium: playwright install --with-deps chromium")
        launched = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


def url(page: Path) -> str:
    name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
    return "" if name == "index" else f"{name}/"


def test_pages_load_and_fit_a_phone(site, browser):
    """Each page has its title and images, no unprocessed markup, and no script errors."""
    tab = browser.new_page(viewport=PHONE)
    tab.set_default_timeout(PATIENCE)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on(
        "response",
        lambda answer: answer.status < 400 or errors.append(f"{answer.status} {answer.url}"),
    )
    for page in PAGES:
        tab.goto(site + url(page))
        title = re.search(r"^# (.*)$", page.read_text(), flags=re.M)
        assert title is not None, page
        assert tab.inner_text("h1").rstrip("¶").strip() == title[1].replace("`", ""), page
        pictures = tab.locator("article img").evaluate_all(
            """images => images.map(image => {
                image.loading = "eager";
                return image.decode().then(() => image.naturalWidth, () => 0);
            }).reduce(async (all, one) => [...await all, await one], Promise.resolve([]))"""
        )
        assert all(pictures), (page, pictures)
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], page
        # Text outside code must not contain unprocessed directives, fences or marks.
        text = tab.locator("article").evaluate(
            """article => {
                const copy = article.cloneNode(true);
                copy.querySelectorAll("code, pre").forEach(code => code.remove());
                return copy.innerText;
            }"""
        )
        assert not re.search(r"^:::|```|\]\(|\.\. \w+::|:(class|func|meth|attr):`", text, re.M), (
            page
        )
    assert not errors
    tab.close()


def test_no_code_is_cut_off(site, browser):
    """On a laptop; signatures that exceed a line are broken."""
    tab = browser.new_page(viewport=LAPTOP)
    tab.set_default_timeout(PATIENCE)
    for page in PAGES:
        tab.goto(site + url(page))
        cut = tab.locator("article pre > code").evaluate_all(
            "all => all.filter(code => code.scrollWidth > code.clientWidth + 1)"
            ".map(code => code.innerText)"
        )
        assert not cut, (page, cut)
    tab.goto(site + "api/")
    signatures = tab.locator("article .doc-signature code").all_inner_texts()
    make_vec = next(text for text in signatures if text.startswith("make_vec("))
    assert "\n    num_envs: int" in make_vec
    tab.close()


def public_names() -> set[str]:
    """Return names of the namespaces, and public methods and attributes of the engines' classes."""
    names = set()
    for namespace in NAMESPACES:
        try:
            module = importlib.import_module(namespace)
        except ImportError:  # needs a library that is not installed
            continue
        found = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items() if inspect.isclass(value)
        ]
        names |= {name for name in found if not name.startswith("_")}
    learn, vector = map(importlib.import_module, ("gymcore.learn", "gymcore.vector"))
    names |= set(inspect.signature(learn.Settings).parameters)
    for owner in (vector.VectorEnv, vector.NativeVectorEnv, learn.PPO, learn.RolloutCollector):
        names |= {name for name in vars(owner) if not name.startswith("_")}
    return names


def test_a_search_finds_every_public_name(site):
    """Each name is a word of the index, as the page splits texts into words."""
    with urllib.request.urlopen(f"{site}search/search_index.json") as answer:
        index = json.load(answer)
    texts = (f"{entry['title']} {entry['text']}" for entry in index["docs"])
    separator = re.compile(f"{index['config']['separator']}|[<>]", flags=re.A)
    words = {word.strip(";.*'") for text in texts for word in separator.split(html.unescape(text))}
    names = public_names()
    assert {"learning_rate", "PPO", "step_into", "FrameStackObservation"} <= names
    assert names - words == set()


def test_anchors_exist(site, browser):
    """Anchors of links within the site; `mkdocs build --strict` checks those in Markdown."""
    tab = browser.new_page()
    tab.set_default_timeout(PATIENCE)
    anchors: dict[str, set[str]] = {}
    links: list[tuple[str, str, str]] = []
    for page in PAGES:
        here = site + url(page)
        tab.goto(here, wait_until="domcontentloaded")
        anchors[here] = set(tab.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)"))
        found = tab.eval_on_selector_all("article a[href]", "nodes => nodes.map(node => node.href)")
        links += [(here, *each.partition("#")[::2]) for each in found if each.startswith(site)]
    assert links
    broken = [
        (here, target, anchor)
        for here, target, anchor in links
        if target in anchors and anchor and anchor not in anchors[target]
    ]
    assert not broken
    tab.close()


def test_search_finds_make_vec(site, browser):
    tab = browser.new_page()
    tab.set_default_timeout(PATIENCE)
    tab.goto(site)
    tab.click("input.md-search__input")
    tab.keyboard.type("make_vec")
    result = tab.locator(".md-search-result__item a").first
    result.wait_for()
    assert "make_vec" in tab.inner_text(".md-search-result__list")
    result.click()
    tab.wait_for_url("**/api/**")
    assert "make_vec" in tab.inner_text("article")
    tab.close()
