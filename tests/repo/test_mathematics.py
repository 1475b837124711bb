"""The mathematics is in the repository: every number that is cited leads to a statement.

docs/mathematics.md has an anchor for each number (M4, M3.5, E1), docs/papers.md a table from the papers'
own numbers to statements and modules.  What is checked here is checked on planted faults too.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.helpers import ROOT

CODE = ("src", "tests", "studies", "benchmarks", "examples")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "studies/README.md", "benchmarks/README.md")
MATHEMATICS, PAPERS = "docs/mathematics.md", "docs/papers.md"

NUMBER = r"[ME]\d{1,2}(?:\.\d+)?"
CITATION = re.compile(rf"(?<![\w#.$/]){NUMBER}(?![\w\[])")  # not "M8[D]", a type of dates
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
PAPER = r"Hall 201[23]|HRW13, JMLR\]|[Tt]hesis|Slavkovic 2019|Schoelkopf 2018|Mirshani et al\.|Balog et al\."
KIND = r"Secs?\.|Sections?|Propositions?|Prop\.|Theorem|Corollary|Cor\.|Algorithm|Figures?|Definition|\("
OWN_NUMBER = re.compile(rf"(?:{PAPER}),?\s+(?:{KIND})?\s*(\d+(?:\.\d+)*)")
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')


@cache
def text_of(path: Path) -> str:
    """What a file holds; it is read once."""
    return path.read_text(encoding="utf-8")


@cache
def cited(file: Path) -> frozenset[str]:
    """Numbers that a file cites."""
    return frozenset(CITATION.findall(text_of(file)))


def sources(root: Path, *folders: str) -> list[Path]:
    """Python files and pages of these folders."""
    files = [file for folder in folders for file in sorted((root / folder).rglob("*"))]
    return [file for file in files if file.suffix in (".py", ".md") and file.is_file()]


def documents(root: Path) -> list[Path]:
    """Pages whose links are followed."""
    return [*sources(root, "docs"), *(root / page for page in PAGES if (root / page).exists())]


def prose(page: Path) -> str:
    """A page without its code."""
    fenced = re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^    .*$", "", fenced, flags=re.M))


@cache
def anchors(page: Path) -> list[str]:
    """Anchors of a page: those that are written out, and those that headings have by themselves."""
    headings = [
        ANCHOR.sub("", line).strip().lower() for line in re.findall(r"^#+ (.*)$", text_of(page), flags=re.M)
    ]
    slugs = [re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings]
    return [*ANCHOR.findall(text_of(page)), *slugs]


def statements(root: Path) -> dict[str, str]:
    """Number and section of every statement."""
    parts = re.split(r"^##+ .*<a id=\"([^\"]+)\"></a>$", text_of(root / MATHEMATICS), flags=re.M)
    ends = [re.split(r"^## ", part, flags=re.M)[0] for part in parts[2::2]]
    return {name[0].upper() + name[1:]: part for name, part in zip(parts[1::2], ends, strict=True)}


def unresolved(root: Path) -> Iterator[str]:
    """Citations that no anchor answers."""
    known = statements(root)
    for file in [*sources(root, *CODE), *documents(root)]:
        for number in sorted(cited(file) - set(known)):
            yield f"{file.relative_to(root)} cites {number}, which is not in {MATHEMATICS}"


def uncited(root: Path) -> Iterator[str]:
    """Statements that neither code nor tests nor studies cite, and that do not say so."""
    files = [file for file in sources(root, *CODE) if file != Path(__file__)]
    found = {number for file in files for number in cited(file)}
    for number, section in statements(root).items():
        below = any(other.startswith(number + ".") for other in found)
        if number not in found and not below and "Not cited by the code" not in section:
            yield f"{number} is in {MATHEMATICS}, and nothing cites it"


def unproved(root: Path) -> Iterator[str]:
    """Statements that say nothing of a proof, or of code."""
    known = statements(root)
    for number, section in known.items():
        if number[0] == "M" and not any(other.startswith(number + ".") for other in known):
            for word in ("Proof", "Code"):
                if not re.search(rf"\b{word}s?:", section):
                    yield f"{number} does not say where its {word.lower()} is"


def repeated(root: Path) -> Iterator[str]:
    """Anchors that stand twice."""
    names = ANCHOR.findall(text_of(root / MATHEMATICS))
    yield from (f"the anchor {name} stands twice" for name in sorted(set(names)) if names.count(name) > 1)


def bare(root: Path) -> Iterator[str]:
    """Citations in documents that are no links, or lead to another statement."""
    for page in sources(root, "docs"):
        lines = [line for line in prose(page).splitlines() if not line.startswith("#")]
        body = "\n".join(lines)
        for label, target in LINK.findall(body):
            if re.fullmatch(NUMBER, label) and not target.endswith("#" + label.lower()):
                yield f"{page.relative_to(root)}: {label} leads to {target}"
        for number in CITATION.findall(LINK.sub("", body)):
            yield f"{page.relative_to(root)}: {number} is no link"


def dead(root: Path) -> Iterator[str]:
    """Links to files and anchors that are not there."""
    for page in documents(root):
        for _, target in LINK.findall(prose(page)):
            name, _, place = target.partition("#")
            file = page.parent / name if name else page
            if "://" in target or target.startswith("mailto:"):
                continue
            if not file.exists():
                yield f"{page.relative_to(root)}: no file {target}"
            elif place and file.suffix == ".md" and place not in anchors(file):
                yield f"{page.relative_to(root)}: no anchor {target}"


def unnamed(root: Path) -> Iterator[str]:
    """Files that documents name in code type, and that are not there."""
    for page in documents(root):
        for name in re.findall(rf"`((?:{'|'.join(CODE)})/[\w./]+)`", text_of(page)):
            if not (root / name).exists():
                yield f"{page.relative_to(root)}: no file {name}"


def untold(root: Path) -> Iterator[str]:
    """Numbers of the papers that modules cite and the papers' table does not have."""
    rows = [line.split(" | ")[0] for line in text_of(root / PAPERS).splitlines() if line.startswith("| ")]
    told = set(re.findall(r"\d+(?:\.\d+)*", " ".join(rows)))
    for file in sources(root, "src"):
        for number in OWN_NUMBER.findall(text_of(file)):
            if number not in told:
                yield f"{file.relative_to(root)} cites {number} of a paper, which is not in {PAPERS}"


def astray(root: Path) -> Iterator[str]:
    """Rows of the papers' table whose module is missing or does not name the statement."""
    for line in text_of(root / PAPERS).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| ") or cells[0] in ("there", "---"):
            continue
        if len(cells) != 3:
            yield f"{PAPERS}: a row of {len(cells)} cells: {line}"
            continue
        numbers = {label for label, _ in LINK.findall(cells[1])}
        modules = [target for _, target in LINK.findall(cells[2])]
        if not numbers or not modules:
            yield f"{PAPERS}: {cells[0]}: no statement or no module"
        for target in modules:
            file = root / "docs" / target
            if not file.exists():
                yield f"{PAPERS}: {cells[0]}: no module {target}"
            elif not numbers & cited(file):
                yield f"{PAPERS}: {cells[0]}: {target} cites none of {', '.join(sorted(numbers))}"


CHECKS: list[Callable[[Path], Iterator[str]]] = [
    unresolved,
    uncited,
    unproved,
    repeated,
    bare,
    dead,
    unnamed,
    untold,
    astray,
]


@pytest.mark.parametrize("check", CHECKS)
def test_every_number_and_link_leads_somewhere(check):
    assert list(check(ROOT)) == []


def test_the_pages_are_read():
    """The checks look at what they are meant for."""
    assert set(statements(ROOT)) >= {f"M{i}" for i in range(1, 19)} | {f"E{i}" for i in range(1, 13)}
    assert {"M3.1", "M3.2", "M3.3", "M3.4", "M3.5", "M3.6"} <= set(statements(ROOT))
    rows = [line for line in text_of(ROOT / PAPERS).splitlines() if line.startswith("| ")]
    assert len(rows) > 70
    for paper in ("2012", "2013", "thesis", "2019", "2018"):
        assert re.search(rf"^## .*{paper}", text_of(ROOT / PAPERS), flags=re.M)
    assert sum(len(CITATION.findall(text_of(file))) for file in sources(ROOT, "src")) > 200


def planted(folder: Path) -> Path:
    """A small tree without a fault."""
    (folder / "docs").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / MATHEMATICS).write_text(
        '# The mathematics\n\n## M1 Noise <a id="m1"></a>\n\nBy [M1](#m1). Proof: [p](proof.md). '
        'Code: [a](../src/a.py).\n\n## Errors\n\n### E1 A slip <a id="e1"></a>\n\nIt is [M1](#m1).\n'
    )
    (folder / "docs" / "proof.md").write_text("# Proof\n\nOf [M1](mathematics.md#m1) in `src/a.py`.\n")
    (folder / PAPERS).write_text(
        "# Papers\n\n| there | statement | here |\n| --- | --- | --- |\n"
        "| Corollary 9 | [M1](mathematics.md#m1) | [a](../src/a.py) |\n"
    )
    (folder / "src" / "a.py").write_text('"""M1; and E1 of Hall 2013, Cor. 9.  Dates are "M8[D]"."""\n')
    return folder


FAULTS = {
    "a number that is nowhere": (unresolved, "src/a.py", "M1;", f"M{99};"),
    "a number below one that is there": (unresolved, "src/a.py", "M1;", f"M1; M1.{7};"),
    "a statement that nothing cites": (uncited, "src/a.py", " and E1 of", " and"),
    "a statement without a proof": (unproved, MATHEMATICS, "Proof: [p](proof.md)", "See"),
    "an anchor that stands twice": (repeated, MATHEMATICS, 'id="e1"', 'id="m1"'),
    "a citation that is no link": (bare, "docs/proof.md", "[M1](mathematics.md#m1)", "M1"),
    "a citation that leads to another": (bare, "docs/proof.md", "mathematics.md#m1", "mathematics.md#e1"),
    "a file that is not there": (dead, MATHEMATICS, "proof.md", "proofs.md"),
    "an anchor that is not there": (dead, "docs/proof.md", "#m1", f"#m{2}"),
    "a named file that is not there": (unnamed, "docs/proof.md", "`src/a.py`", "`src/b.py`"),
    "a theorem that is in no table": (untold, "src/a.py", "Cor. 9", f"Cor. {7}"),
    "a module that moved": (astray, PAPERS, "../src/a.py", "../src/b.py"),
    "a module that cites another": (astray, "src/a.py", "M1; and E1", "E1"),
    "a row without a statement": (astray, PAPERS, "[M1](mathematics.md#m1)", "-"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_seen(fault, tmp_path):
    sound = planted(tmp_path / "sound")
    assert [found for check in CHECKS for found in check(sound)] == []
    check, file, old, new = FAULTS[fault]
    broken = planted(tmp_path / "broken")
    text = (broken / file).read_text()
    assert text.count(old) == 1
    (broken / file).write_text(text.replace(old, new))
    assert list(check(broken)) != []
