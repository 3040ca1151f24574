"""Every Python block of README.md and docs/*.md runs, in order, and prints what the page says that it prints.

* Blocks of one page share a namespace.
* A block with `>>>` prompts is a doctest.
* A `text` block right after a `python` block is what that block prints.
"""

from __future__ import annotations

import contextlib
import difflib
import doctest
import io
import re
import textwrap
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import muntin as mt
from muntin.aggregates import BUILTIN

ROOT = Path(__file__).resolve().parent.parent
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))) if page.is_file()]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
# A link to a page or to a heading of one, not to another site.
LINK = re.compile(r"\]\((?![a-z]+:)(?P<page>[^)#\s]*)#?(?P<heading>[^)\s]*)\)")


class Block(NamedTuple):
    """A fenced block: its language, its text, the number of its first line (from 1), and what came right before."""

    language: str
    text: str
    line: int
    before: Block | None


class DocsError(Exception):
    """What is wrong with a page, and where."""


def blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    opening: re.Match[str] | None = None
    last: Block | None = None
    first = 0
    for number, line in enumerate(lines, start=1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                opening, first = fence, number + 1
            elif line.strip():
                last = None  # prose: what comes next does not belong to the block before
        elif fence and fence["fence"].startswith(opening["fence"]) and not line.strip().strip(fence["fence"][0]):
            inner = lines[first - 1 : number - 1]
            text = "\n".join(line.removeprefix(opening["indent"]) for line in inner)
            last = Block(opening["language"], text, first, last)
            yield last
            opening = None
    if opening is not None:
        raise DocsError(f"{shown(page)}:{first - 1}: this block is never closed")


def check(page: Path) -> None:
    """Run all blocks of a page; a `DocsError` names the page and the line of the first failure."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks(page):
        if block.language == "python":
            prompts = block.text.lstrip().startswith(">>>")
            printed = (run_prompts if prompts else run)(page, block, namespace)
        elif block.language == "text" and block.before is not None and block.before.language == "python":
            compare(page, block, printed)


def run(page: Path, block: Block, namespace: dict[str, Any]) -> str:
    """Run a block, and give what it prints."""
    # The page's own path and line numbers, so that a traceback shows the line of the page.
    source = "\n" * (block.line - 1) + block.text
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(source, str(page), "exec", dont_inherit=True), namespace)
    except SyntaxError as error:
        raise DocsError(f"{shown(page)}:{error.lineno}: {error!r}") from error
    except Exception as error:
        frames = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(page)]
        raise DocsError(f"{shown(page)}:{frames[0]}: {error!r}\n\n{traceback.format_exc()}") from error
    return out.getvalue()


def run_prompts(page: Path, block: Block, namespace: dict[str, Any]) -> str:
    """Check a block of prompts and answers."""
    test = doctest.DocTestParser().get_doctest(block.text, {}, "block", str(page), block.line - 1)
    test.globs = namespace  # not a copy: later blocks see its names
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_NDIFF)
    if runner.run(test, out=report.append, clear_globs=False).failed:
        text = "".join(report)
        found = re.search(r"line (\d+), in block", text)
        raise DocsError(f"{shown(page)}:{found[1] if found else block.line}: the answers differ\n\n{text}")
    return ""


def compare(page: Path, block: Block, printed: str) -> None:
    """Compare a `text` block with what the block before it printed; white space at the ends of lines is free."""
    said, got = ([line.rstrip() for line in text.strip("\n").splitlines()] for text in (block.text, printed))
    if said == got:
        return
    same = next((i for i, (a, b) in enumerate(zip(said, got, strict=False)) if a != b), min(len(said), len(got)))
    diff = "\n".join(difflib.unified_diff(said, got, "on the page", "printed", lineterm=""))
    raise DocsError(f"{shown(page)}:{block.line + same}: the block prints something else\n\n{diff}")


def shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name


# ---- the pages ----


# The pages about Spark share the session of the tests on Spark, and so their worker.
ON_SPARK = [pytest.mark.spark]
SPARK = ("spark", "getting-started")


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, id=n, marks=ON_SPARK if p.stem in SPARK else []) for p, n in zip(PAGES, NAMES, strict=True)],
)
def test_every_block_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if page.stem in SPARK:
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    problem = ""
    try:
        check(page)
    except DocsError as error:
        problem = str(error)
    if problem:  # not within `except`: the report would show both errors
        pytest.fail(problem, pytrace=False)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.finditer(page.read_text(encoding="utf-8")):
        target = page.parent / link["page"] if link["page"] else page
        if not target.exists() or (link["heading"] and link["heading"] not in headings(target)):
            broken.append(link[0])
    assert not broken


def headings(page: Path) -> set[str]:
    """The names under which headings can be linked to, as GitHub makes them."""
    found = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_the_table_of_aggregates_is_complete_and_true() -> None:
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in (ROOT / "docs" / "aggregates.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    said = {row[0].split("(")[0].strip("`"): tuple(row[-4:]) for row in rows}
    true = {
        name: (
            aggregate.kind,
            "yes" if aggregate.commutative else "no",
            "no" if aggregate.invert is None else "yes",
            "selective" if aggregate.selective else "cumulative",
        )
        for name, aggregate in BUILTIN.items()
    }
    assert said == true
    assert set(true) <= set(mt.__all__)


# ---- the checker itself ----


def failure(tmp_path: Path, text: str) -> str:
    page = tmp_path / "page.md"
    page.write_text(textwrap.dedent(text), encoding="utf-8")
    try:
        check(page)
    except DocsError as error:
        return str(error).partition("\n")[0]
    return ""


def test_a_right_page_passes(tmp_path: Path) -> None:
    assert not failure(
        tmp_path,
        """
        ```python
        x = 1
        print(x)
        ```

        ```text
        1
        ```

        Names are shared.

        ```python
        >>> x + 1
        2
        >>> y = 3
        ```

        1. In a list:

           ```python
           print(x + y)
           ```
           ```text
           4
           ```

        ```text
        a drawing, not an output
        ```
        ```bash
        exit 1
        ```
        """,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n\n```python\nx = 1\n1 / 0\n```\n", "page.md:5: ZeroDivisionError('division by zero')"),
        ("```python\nx = 1\n```\n\n```python\ndef f(:\n```\n", "page.md:6: SyntaxError"),
        ("```python\nprint(1)\nprint(2)\n```\n\n```text\n1\n3\n```\n", "page.md:8: the block prints something else"),
        ("```python\n```\n```text\n1\n```\n", "page.md:4: the block prints something else"),
        ("```python\n>>> 1 + 1\n2\n>>> 1 + 2\n2\n```\n", "page.md:4: the answers differ"),
        ("```python\nimport warnings\nwarnings.warn('old')\n```\n", "page.md:3: UserWarning('old')"),
        ("\n```python\nx = 1\n", "page.md:2: this block is never closed"),
    ],
)
def test_a_wrong_page_fails_with_page_and_line(tmp_path: Path, text: str, message: str) -> None:
    assert failure(tmp_path, text).startswith(message)
