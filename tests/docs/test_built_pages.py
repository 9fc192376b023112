"""The pages of the built site: docstrings become code blocks, lists and signatures.

Needs the extra "docs": `pip install ".[docs]"`.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = 80  # mkdocs.yml: line_length
# The sections that the site's generator knows, of those in Google's style.
SECTIONS = {"Args", "Attributes", "Examples", "Raises", "Returns", "Yields"}

pytestmark = pytest.mark.timeout(600)  # building takes minutes on a busy machine


def text_of(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).replace("¶", "").strip()


def prose_of(article: str) -> str:
    """Return the text outside code."""
    return text_of(re.sub(r"<(pre|code)\b.*?</\1>", "", article, flags=re.S))


def empty_headings(article: str) -> list[str]:
    """Return the headings that are followed by no text and no smaller heading."""
    headings = [*re.finditer(r"<h([1-6])\b.*?</h\1>", article, flags=re.S)]
    ends = [heading.start() for heading in headings[1:]] + [len(article)]
    sizes = [int(heading[1]) for heading in headings[1:]] + [0]
    signature = r'<div class="[^"]*doc-signature.*?</div>'
    return [
        text_of(heading[0])
        for heading, end, size in zip(headings, ends, sizes, strict=True)
        if size <= int(heading[1])
        and not text_of(re.sub(signature, "", article[heading.end() : end], flags=re.S))
    ]


def long_signatures(article: str) -> list[str]:
    """Return the signatures with a line that a page breaks inside of words."""
    signatures = re.findall(r'<div class="[^"]*doc-signature[^>]*>(.*?)</div>', article, re.S)
    lines = [text_of(signature).splitlines() for signature in signatures]
    return ["\n".join(each) for each in lines if max(map(len, each), default=0) > LINE]


FAULTS = {
    "code that is no code block": lambda article: re.findall(
        r"^.*(?:>>> |```|^::: ).*$", prose_of(article), flags=re.M
    ),
    "sections that the generator does not know": lambda article: re.findall(
        r"<summary>(.*?)</summary>", article
    ),
    "headings without content": empty_headings,
    "signatures that break in words": long_signatures,
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_no_page_has(fault: str, built_site: Path) -> None:
    pages = [page for page in built_site.rglob("*.html") if page.name != "404.html"]
    articles = {
        page.relative_to(built_site).as_posix(): re.search(
            r"<article.*</article>", page.read_text(), flags=re.S
        )
        for page in pages
    }
    found = {
        page: FAULTS[fault](article[0] if article else "") for page, article in articles.items()
    }
    assert len(found) > 50
    assert not {page: each for page, each in found.items() if each}


@pytest.mark.parametrize(
    ("fault", "article"),
    [
        ("code that is no code block", "<p>&gt;&gt;&gt; 1 + 1</p>"),
        ("sections that the generator does not know", "<summary>Example</summary>"),
        ("headings without content", "<h2>a</h2> <h2>b</h2> <p>text</p>"),
        ("headings without content", "<h2>a</h2> <h3>b</h3> <div class='x'></div>"),
        ("signatures that break in words", f'<div class="doc-signature">{"a" * 81}</div>'),
    ],
)
def test_a_fault_is_found(fault: str, article: str) -> None:
    assert FAULTS[fault](article)


def test_docstrings_have_sections_that_the_generator_knows() -> None:
    """Those of every module, also of modules that no page shows."""
    files = [
        path for folder in ("gymcore", "gymcore_ext") for path in (ROOT / folder).rglob("*.py*")
    ]
    sections = {
        (section[2], path.relative_to(ROOT).as_posix())
        for path in files
        if path.suffix in (".py", ".pyx")
        for section in re.finditer(
            r"^( {4,})([A-Z][\w ]*):\n(?=\1 +\S)", path.read_text(), flags=re.M
        )
    }
    assert {name for name, _ in sections} >= {"Args", "Examples", "Raises"}
    assert not {each for each in sections if each[0] not in SECTIONS}


def test_returns_over_several_lines_are_one_item(built_site: Path) -> None:
    """`vector.make` explains in two lines what it returns."""
    page = (built_site / "api" / "vector" / "index.html").read_text()
    returns = re.search(r"Returns:</span>.*?<ul>(.*?)</ul>", page, flags=re.S)
    assert returns is not None
    assert len(re.findall("<li", returns[1])) == 1
