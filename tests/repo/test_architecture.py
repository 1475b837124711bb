"""The plan of the house is kept: docs/architecture.md.  Every rule is seen to fail on a planted violation.

A rule is a function of a house, which is read from a folder: it yields what breaks it, in words.  There are
no exceptions.  Imports within functions, for types alone and by `import_module` count like all others.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from tests.helpers import ROOT

ORDER = (  # a module imports from packages that stand before its own, and from its own
    "common",
    "columns",
    "sources",
    "show",
    "promise",
    "ledger",
    "noise",
    "spaces",
    "rules",
    "sensitive",
    "door",
    "releases",
    "online",
    "api",
    "estimators",
    "audits",
    "server",
    "cli",
)
PUBLIC = ("columns", "promise", "releases", "show", "spaces")  # never meet what follows, by any way
TRUSTED = ("sensitive", "door", "noise.entropy", "noise.mechanisms")
ENTRIES, MODULES, LINES = 25, 25, 400


@dataclass(frozen=True)
class Module:
    """One file, parsed."""

    name: str  # "mercer.noise.exact"; of a package the package's own
    file: Path

    @cached_property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """What names stand for that are assigned once, at the top."""
        lines = [line for line in self.tree.body if isinstance(line, ast.Assign | ast.AnnAssign)]
        targets = [line.targets[0] if isinstance(line, ast.Assign) else line.target for line in lines]
        pairs = zip(targets, lines, strict=True)
        return {t.id: line.value for t, line in pairs if isinstance(t, ast.Name) and line.value}

    @property
    def package(self) -> str:
        """What relative imports start from."""
        return self.name if self.file.name == "__init__.py" else self.name.rpartition(".")[0]

    @property
    def room(self) -> str:
        """The package directly under the top one; the empty word for modules that stand there alone."""
        return f"{self.package}.".split(".")[1]

    def late(self) -> Iterator[str]:
        """Where modules are that are imported by name: "mercer.noise.exact", or "mercer.noise." if it varies."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
                ("import_module", "__import__")
            ):
                place = node.args[0]
                first = place.values[0] if isinstance(place, ast.JoinedStr) else place
                yield first.value if isinstance(first, ast.Constant) else "anything"


Class = tuple[str, str]  # module and name


class House:
    """All modules below a folder, and who imports whom."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = sorted(file for file in folder.rglob("*.py"))
        modules = [Module(self._name(file), file) for file in files]
        self.modules = {module.name: module for module in modules}

    def _name(self, file: Path) -> str:
        parts = (self.folder.name, *file.relative_to(self.folder).with_suffix("").parts)
        return ".".join(part for part in parts if part != "__init__")

    def inside(self) -> Iterator[Module]:
        """Modules in packages; those directly under the top one only name what is inside."""
        yield from (module for module in self.modules.values() if module.room)

    def room(self, name: str) -> str:
        return self.modules[name].room

    @cached_property
    def bound(self) -> dict[str, dict[str, Class]]:
        """For each module the names that imports bind: where each comes from, and its name there, if it has one."""
        names = {name: self._names(module) for name, module in self.modules.items()}
        return {
            name: {here: (source, there) for here, source, there in found} for name, found in names.items()
        }

    def _names(self, module: Module) -> Iterator[tuple[str, str, str]]:
        for node in module.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.asname or alias.name, alias.name, ""
            elif isinstance(node, ast.ImportFrom):
                above = module.package.split(".")[: -(node.level - 1) or None] if node.level else []
                source = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    whole = f"{source}.{alias.name}"
                    here = alias.asname or alias.name
                    yield (here, whole, "") if whole in self.modules else (here, source, alias.name)

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """Modules that each module imports, wherever that stands."""
        found = {}
        for name, module in self.modules.items():
            named = {source for _, source, _ in self._names(module)} | set(module.late())
            found[name] = {other for other in named if other in self.modules and other != name}
        return found

    @cached_property
    def classes(self) -> dict[Class, set[Class]]:
        """Classes and their bases, as far as they are of this house."""
        found = {}
        for name, module in self.modules.items():
            for node in module.nodes:
                if isinstance(node, ast.ClassDef):
                    found[name, node.name] = {self.home(base, name) for base in node.bases}
        return found

    def home(self, value: ast.expr, module: str) -> Class:
        """Where a class is defined that is named like this in a module, also if packages hand it on."""
        value = value.value if isinstance(value, ast.Subscript) else value
        bound, whole = self.bound[module], ast.unparse(value)
        if isinstance(value, ast.Attribute):
            holder = ast.unparse(value.value)
            place = bound.get(holder, (holder, ""))[0], value.attr
        else:
            place = bound.get(whole, (module, whole))
        while (after := self.bound.get(place[0], {}).get(place[1], place)) != place:
            place = after
        return place

    def below(self, root: Class) -> set[Class]:
        """Everything that derives from a class."""
        found: set[Class] = set()
        while more := {c for c, bases in self.classes.items() if bases & (found | {root})} - found:
            found |= more
        return found

    def root(self, room: str, name: str) -> Class:
        """The class of this name in a package."""
        return next(place for place in self.classes if place[1] == name and self.room(place[0]) == room)


def upward(house: House) -> Iterator[str]:
    """1. A module imports from its own package and those before it."""
    rank = {room: k for k, room in enumerate(ORDER)}
    for module in house.inside():
        for other in sorted(house.imports[module.name] | set(module.late())):
            if rank.get(f"{other}..".split(".")[1], len(ORDER)) > rank.get(module.room, -1):
                yield f"{module.name} imports {other}"


def cyclic(house: House) -> Iterator[str]:
    """2. No module imports itself by way of others."""
    reached = {module.name: reach(house.imports, {module.name}) for module in house.inside()}
    rings = {frozenset(b for b in reached if b in reached[a] and a in reached[b]) for a in reached}
    yield from (f"a cycle of {len(ring)}: {', '.join(sorted(ring))}" for ring in rings if ring)


def reach(graph: dict[str, set[str]], start: set[str]) -> set[str]:
    """What may be come to from there in one step or more."""
    found: set[str] = set()
    edge = set(start)
    while edge := {other for name in edge for other in graph[name]} - found:
        found |= edge
    return found


def trusting(house: House) -> Iterator[str]:
    """3. What is public for ever never meets records or noise, not even by way of others."""
    top = house.folder.name
    graph = {  # an import runs the packages above the module too
        name: {p for other in others for p in (other, *above(other)) if p in house.modules and p != top}
        for name, others in house.imports.items()
    }
    for module in house.inside():
        if module.room in PUBLIC:
            for other in sorted(reach(graph, {module.name})):
                if any(f"{other}.".startswith(f"{top}.{place}.") for place in TRUSTED):
                    yield f"{module.name} leads to {other}"


def above(name: str) -> Iterator[str]:
    """Packages that hold a module."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


DRAWS = {"secure_draws": "audits", "Tap": "online"}  # what gives noise by itself, and the room it is for


def entropic(house: House) -> Iterator[str]:
    """4. Outside of noise and the door nothing names the entropy, and nothing asks for noise."""
    for module in house.modules.values():
        if module.room in ("noise", "door"):
            continue
        for name in {there for _, there in house.bound[module.name].values()} & DRAWS.keys():
            if module.room != DRAWS[name]:
                yield f"{module.name} imports {name}"
        if f"{house.folder.name}.noise.entropy" in house.imports[module.name]:
            yield f"{module.name} imports the entropy"
        found = tokenize.generate_tokens(io.StringIO(module.text).readline) if "ntropy" in module.text else ()
        for token in found:
            if token.type in (tokenize.NAME, tokenize.COMMENT) and "entropy" in token.string.lower():
                yield f"{module.name} says {token.string!r}"
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and node.attr == "randomise":
                yield f"{module.name} randomises"


def homeless(house: House) -> Iterator[str]:
    """4. What may hold records is in sensitive/."""
    for name, found in sorted(house.below(house.root("sensitive", "Sensitive"))):
        if house.room(name) != "sensitive":
            yield f"{name}.{found} derives from Sensitive"


def curious(house: House) -> Iterator[str]:
    """5. Outside of releases nothing tests the class or the kind of a release."""
    classes = house.below(house.root("releases", "Release"))
    kinds = set(kinds_of(house, classes))
    for module in house.inside():
        if module.room == "releases":
            continue
        for node in module.nodes:
            for part in (p for whole in asked(node) for p in ast.walk(whole)):
                held = module.constants.get(part.id, part) if isinstance(part, ast.Name) else part
                for found in ast.walk(held):
                    if isinstance(found, ast.Name | ast.Attribute):
                        if house.home(found, module.name) in classes:
                            yield f"{module.name} tests for a {ast.unparse(found)}"
                    elif isinstance(found, ast.Constant) and found.value in kinds and of_kind(node):
                        yield f"{module.name} tests for the kind {found.value}"


def kinds_of(house: House, classes: set[Class]) -> Iterator[str]:
    """The words that releases give as their kinds."""
    for module, name in classes:
        for node in house.modules[module].nodes:
            if isinstance(node, ast.ClassDef) and node.name == name:
                for line in node.body:
                    if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "kind":
                        yield ast.literal_eval(line.value)


def asked(node: ast.AST) -> Iterator[ast.AST]:
    """What something is compared with, or looked up in."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
            yield classes
        case ast.Call(func=ast.Attribute(value=table, attr="startswith" | "endswith" | "get"), args=words):
            yield from (table, *words)
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case ast.Subscript(value=table):
            yield table
        case ast.Match(cases=cases):
            yield from (case.pattern for case in cases)


def of_kind(node: ast.AST) -> bool:
    """Whether a test asks for something called a kind."""
    about = node.subject if isinstance(node, ast.Match) else node
    words = (getattr(p, "attr", getattr(p, "id", getattr(p, "value", ""))) for p in ast.walk(about))
    return "kind" in [word for word in words if isinstance(word, str)]


def misnamed(house: House) -> Iterator[str]:
    """7. No module hides a public name, and a class's name stands once."""
    top = house.modules[house.folder.name]
    public = exported(top)
    for entry in sorted(house.folder.iterdir()):
        if entry.stem in public:
            yield f"{entry.name} bears the name of mercer.{entry.stem}"
    for name in sorted({name for _, name in house.classes}):
        homes = [home for home, other in house.classes if other == name]
        if len(homes) > 1:
            yield f"{name} is defined in {' and '.join(sorted(homes))}"


def exported(module: Module) -> set[str]:
    """What __all__ lists."""
    listed = module.constants.get("__all__")
    return set(ast.literal_eval(listed)) if listed else set()


def crowded(house: House) -> Iterator[str]:
    """8. Few entries, few modules in a folder, few lines in a module."""
    entries = [entry for entry in house.folder.iterdir() if entry.name != "__pycache__"]
    if len(entries) > ENTRIES:
        yield f"{house.folder.name} has {len(entries)} entries"
    for folder in sorted({module.file.parent for module in house.modules.values()}):
        if (count := len(list(folder.glob("*.py")))) > MODULES:
            yield f"{folder.name} has {count} modules"
    sizes = {name: module.text.count("\n") for name, module in house.modules.items()}
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if sizes[name] > LINES:
            yield f"{name} has {sizes[name]} lines"


def vague(house: House) -> Iterator[str]:
    """9. No public function returns Any; epsilon has a type and no default."""
    for module in house.modules.values():
        for name, function in functions(module):
            returns = ast.unparse(function.returns) if function.returns else "Any"
            if "Any" in re.split(r"\s*\|\s*", returns) and function.name != "__init__":
                yield f"{module.name}.{name} returns {returns}"
            given = function.args
            plain = [*given.posonlyargs, *given.args]
            free = {arg.arg for arg in plain[len(plain) - len(given.defaults) :]} if given.defaults else set()
            free |= {a.arg for a, v in zip(given.kwonlyargs, given.kw_defaults, strict=True) if v is not None}
            for argument in (*plain, *given.kwonlyargs):
                if argument.arg == "epsilon" and argument.annotation is None:
                    yield f"{module.name}.{name}: epsilon has no type"
                if argument.arg == "epsilon" and "epsilon" in free:
                    yield f"{module.name}.{name}: epsilon has a default"


def functions(module: Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Public functions, and the public methods of public classes."""
    public = exported(module)
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in public:
            yield node.name, node
        if isinstance(node, ast.ClassDef) and node.name in public:
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and (part.name[0] != "_" or part.name == "__init__"):
                    yield f"{node.name}.{part.name}", part


RULES = (upward, cyclic, trusting, entropic, homeless, curious, misnamed, crowded, vague)


@pytest.fixture(scope="module")
def mercer_house() -> House:
    return House(ROOT / "src" / "mercer")


@pytest.mark.parametrize("rule", RULES)
def test_the_house_is_as_planned(rule, mercer_house):
    assert list(rule(mercer_house)) == []


def test_the_house_is_read(mercer_house):
    """The rules look at what they are meant for."""
    assert {module.room for module in mercer_house.inside()} == set(ORDER)
    releases = mercer_house.below(mercer_house.root("releases", "Release"))
    kinds = set(kinds_of(mercer_house, releases))
    assert kinds >= {"density", "classifier", "mean-curve", "synthetic-table", "histogram", "count"}
    assert len(mercer_house.below(mercer_house.root("sensitive", "Sensitive"))) > 20
    assert sum(len(others) for others in mercer_house.imports.values()) > 700
    seen = {mercer_house.room(other) for other in mercer_house.imports["mercer.door.publish"]}
    assert seen >= {"noise", "sensitive", "ledger"}


SOUND = {  # a small tree without a fault
    "__init__.py": '__all__ = ["density"]\n',
    "columns/kinds.py": '__all__ = ["Column"]\n\nclass Column:\n    kind = "date"\n',
    "show/figure.py": "from mercer.columns.kinds import Column\n",
    "noise/__init__.py": "",
    "noise/entropy.py": "class Entropy:\n    pass\n",
    "noise/laws.py": "def scale():\n    pass\n",
    "sensitive/base.py": "class Sensitive:\n    pass\n",
    "sensitive/rows.py": "from mercer.sensitive import base\n\nclass Rows(base.Sensitive):\n    pass\n",
    "door/publish.py": "from mercer.noise import entropy\nfrom mercer.sensitive.rows import Rows\n\n"
    "def publish(mechanism):\n    return mechanism.randomise()\n",
    "releases/__init__.py": "from mercer.releases.density import Density\n",
    "releases/base.py": "class Release:\n    pass\n",
    "releases/density.py": "from mercer.noise.laws import scale\nfrom mercer.releases.base import Release\n\n"
    'class Density(Release):\n    kind = "density"\n',
    "api/call.py": "from mercer.door.publish import publish\nfrom mercer.releases import Density\n\n"
    '__all__ = ["density", "Draft"]\n\n'
    "def density(rows, *, epsilon: float) -> Density:\n    pass\n\n"
    "class Draft:\n    def words(self) -> dict[str, Any]:\n        pass\n",
    "cli/app.py": "def shown(release, column):\n    from mercer.columns.kinds import Column\n\n"
    '    return isinstance(column, Column) or column.kind == "date"\n',
}
FOUND = "from mercer.releases import Density\n\ndef f(release):\n    return "
FAULTS = {  # a rule, a file, and what is added there
    "an import from a package that comes later": (upward, "columns/kinds.py", "import mercer.show.figure"),
    "one within a function": (upward, "columns/kinds.py", "def f():\n    from mercer.show import figure"),
    "one for types": (upward, "columns/kinds.py", "if TYPE_CHECKING:\n    from mercer.show import figure"),
    "one by name": (upward, "columns/kinds.py", "import_module('mercer.show.figure')"),
    "one by a name that is put together": (upward, "releases/base.py", 'import_module(f"mercer.api.{name}")'),
    "one by any name": (upward, "releases/base.py", "import_module(name)"),
    "one of everything": (upward, "cli/app.py", "import mercer"),
    "one from nowhere in the plan": (upward, "attic/old.py", "import mercer.noise.laws"),
    "a cycle": (cyclic, "releases/base.py", "from mercer.releases.density import Density"),
    "a cycle within a function": (cyclic, "releases/base.py", "def f():\n    from . import density"),
    "a cycle by way of a package": (cyclic, "releases/density.py", "from mercer.releases import Density"),
    "a release that sees records": (trusting, "releases/base.py", "from mercer.sensitive.rows import Rows"),
    "a release that draws": (trusting, "noise/laws.py", "def f():\n    from .entropy import Entropy"),
    "a package above that draws": (trusting, "noise/__init__.py", "import mercer.noise.entropy"),
    "entropy outside the door": (entropic, "api/call.py", "from mercer.noise import entropy as e"),
    "entropy that is handed on": (entropic, "api/call.py", "def f(entropy_of_all):\n    pass"),
    "noise that audits draw": (entropic, "api/call.py", "from mercer.noise.laws import secure_draws as draw"),
    "noise of a live release": (entropic, "cli/app.py", "from mercer.door.publish import Tap"),
    "noise outside the door": (entropic, "api/call.py", "noisy = mechanism.randomise(exact)"),
    "records outside sensitive": (
        homeless,
        "api/call.py",
        "from mercer.sensitive import rows as r\nclass Mine(r.Rows):\n    pass",
    ),
    "a test of a class": (curious, "cli/app.py", f"{FOUND}isinstance(release, (int, Density))"),
    "a test of a type": (curious, "cli/app.py", f"{FOUND}type(release) is Density"),
    "a test of a class under another name": (
        curious,
        "cli/app.py",
        "import mercer.releases as r\nONES = (r.Density,)\ndef f(x):\n    return isinstance(x, ONES)",
    ),
    "a match of a class": (
        curious,
        "cli/app.py",
        "from mercer.releases.density import Density as D\nmatch release:\n    case D():\n        pass",
    ),
    "a test of a kind": (curious, "cli/app.py", 'found = release.kind in ("density", "curve")'),
    "a test of a kind that is listed elsewhere": (
        curious,
        "cli/app.py",
        'KINDS = {"density"}\nfound = release.kind in KINDS',
    ),
    "a table by kinds": (curious, "cli/app.py", 'DRAW = {"density": 1}\nfound = DRAW[release.kind]'),
    "a match of a kind": (curious, "cli/app.py", 'match release.kind:\n    case "density":\n        pass'),
    "a module with a public name": (misnamed, "density.py", ""),
    "a package with a public name": (misnamed, "density/call.py", ""),
    "two classes of one name": (misnamed, "cli/app.py", "class Density:\n    pass"),
    "a long module": (crowded, "cli/app.py", "\n" * LINES),
    "many modules": (crowded, "cli/{}.py", "1"),
    "many packages": (crowded, "{}/a.py", "1"),
    "a function that returns anything": (
        vague,
        "api/call.py",
        '__all__ = ["f"]\ndef f() -> Any | None:\n    pass',
    ),
    "a method that returns anything": (vague, "columns/kinds.py", "    def f(self) -> Any:\n        pass"),
    "epsilon without a type": (vague, "columns/kinds.py", "    def f(self, epsilon) -> int:\n        pass"),
    "epsilon that may be left out": (
        vague,
        "columns/kinds.py",
        "    def f(self, *, epsilon: float = 1) -> int:\n        pass",
    ),
}


def planted(folder: Path, file: str = "", text: str = "") -> House:
    """A small house, and something that is added to one of its files, or to many new ones."""
    names = [file.format(f"n{k}") for k in range(MODULES)] if "{}" in file else [file] if file else []
    for name in dict.fromkeys([*SOUND, *names]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SOUND.get(name, "") + (text + "\n" if name in names else ""))
    return House(folder)


def test_a_sound_house_breaks_no_rule(tmp_path):
    house = planted(tmp_path / "mercer")
    assert [words for rule, *_ in FAULTS.values() for words in rule(house)] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_violations_are_seen(fault, tmp_path):
    rule, file, text = FAULTS[fault]
    assert list(rule(planted(tmp_path / "mercer", file, text)))
