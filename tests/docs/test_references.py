"""Links between pages, and references from code to pages and back, lead to something that exists."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACKED = [
    ROOT / line
    for line in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    if (ROOT / line).is_file()
]
PAGES = [path for path in TRACKED if path.suffix == ".md"]
SOURCES = [path for path in TRACKED if path.suffix == ".py"]
LINK = re.compile(r"!?\[([^\]]*)\]\(([^()\s]+)\)")
WRITTEN_BY_CODE = {"comment.md"}
SECTIONS = re.compile(r"model\.md,? sections?\s+((?:\d+(?:, | and )?)+)")


def prose(page: Path) -> str:
    """The page without its code blocks, where brackets mean something else."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, made as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def links(page: Path) -> list[tuple[str, str]]:
    """(text, target) of the page's links that stay within the repository."""
    return [(text, target) for text, target in LINK.findall(prose(page)) if "://" not in target]


def defines(source: str, name: str) -> bool:
    """Whether a module defines a function, class, method or constant of this name."""
    last = re.escape(name.rpartition(".")[2])
    return bool(re.search(rf"^\s*(?:async )?(?:def|class) {last}\b|^{last}\s*[:=]", source, re.M))


def cited_sections(text: str) -> set[int]:
    """The sections of the model that a text refers to."""
    return {int(n) for numbers in SECTIONS.findall(text) for n in re.findall(r"\d+", numbers)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    broken = []
    for text, target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(f"[{text}]({target})")
    assert not broken, f"{page.relative_to(ROOT)}: no such file or heading: {', '.join(broken)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_define_what_links_to_them_name(page: Path) -> None:
    """A link to a module may name what is meant in it: `[cost/load.py: Load, root](...)`."""
    missing = []
    for text, target in links(page):
        module, _, names = text.replace("`", "").partition(": ")
        if target.endswith(".py") and module.endswith(".py"):
            source = (page.parent / target).read_text()
            missing += [
                f"{target}: {name}" for name in filter(None, names.split(", ")) if not defines(source, name)
            ]
    assert not missing, f"{page.relative_to(ROOT)} names what is not there (any more): {missing}"


def test_pages_that_code_names_exist() -> None:
    pages = {page.name for page in PAGES}
    missing = {
        str(path.relative_to(ROOT)): sorted(absent)
        for path in SOURCES
        if path.is_relative_to(ROOT / "placement")
        or path.is_relative_to(ROOT / "runtime")
        or path.is_relative_to(ROOT / "operator")
        if (absent := set(re.findall(r"\b([A-Za-z-]+\.md)\b", path.read_text())) - pages - WRITTEN_BY_CODE)
    }
    assert not missing, f"no such page: {missing}"


def test_headings_that_code_quotes_exist() -> None:
    wrong = []
    for path in SOURCES:
        for page, heading in re.findall(r'\b([a-z-]+\.md),? "([^"\n]+)"', path.read_text()):
            targets = [p for p in PAGES if p.name == page and p.is_relative_to(ROOT / "docs")]
            title = rf"^(#+ {re.escape(heading)}$|\*\*{re.escape(heading)}\b)"
            if not any(re.search(title, p.read_text(), re.M) for p in targets):
                wrong.append(f'{path.relative_to(ROOT)}: {page}, "{heading}"')
    assert not wrong, f"no such heading: {wrong}"


def test_sections_of_the_model_that_code_refers_to_exist() -> None:
    headings = set(map(int, re.findall(r"^## (\d+)\. ", (ROOT / "docs" / "model.md").read_text(), re.M)))
    wrong = {
        str(path.relative_to(ROOT)): sorted(absent)
        for path in SOURCES
        if (absent := cited_sections(path.read_text()) - headings)
    }
    assert not wrong, f"docs/model.md has the sections {sorted(headings)}, not these: {wrong}"


def test_papers_are_cited_by_name() -> None:
    """Not by the numbers that our copies once had."""
    number = re.compile(r"(?<![\w.,-])00[0-4](?![\d_,]|\.\d)")
    wrong = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in [*SOURCES, *PAGES]
        if path != Path(__file__)
        for match in [number.search(path.read_text())]
        if match
    ]
    assert not wrong, f"cite a paper by its short name (docs/papers.md): {wrong}"


def test_tables_of_papers_are_cited_where_papers_are() -> None:
    """Whoever uses Weir does not have them at hand."""
    apart = (ROOT / "docs" / "papers.md", ROOT / "docs" / "benchmarks")
    wrong = [
        f"{page.relative_to(ROOT)}: {cited[0]}"
        for page in PAGES
        if not any(page.is_relative_to(path) for path in apart)
        for cited in [re.search(r"\b(Table|Algorithm|Equation) \d", page.read_text())]
        if cited
    ]
    assert not wrong, f"say it in words, and cite the paper in docs/papers.md: {wrong}"


@pytest.mark.parametrize("part", ["placement", "runtime", "operator"])
def test_the_architecture_names_every_room(part: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page.partition(f"### {part}/weir_{part}")[2].partition("\n#")[0]
    package = ROOT / part / f"weir_{part}"
    rooms = {path.relative_to(package).parts[0] for path in SOURCES if path.parent.parent == package}
    assert set(re.findall(r"^\| `([\w-]+)/` \|", section, re.M)) == rooms


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("(model.md section 2)", {2}),
        ("(docs/model.md sections 3, 5 and 9).", {3, 5, 9}),
        ("model.md,\nsection 4", set()),
        ("model.md section\n    4: the rate", {4}),
    ],
)
def test_references_are_recognised(text: str, sections: set[int]) -> None:
    assert cited_sections(text) == sections
