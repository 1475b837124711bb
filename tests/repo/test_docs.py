"""What the documents say is what the program does: their examples are run."""

import contextlib
import doctest
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest

import mercer
from mercer.cli.app import main
from mercer.ledger.ledger import Ledger
from tests.helpers import ROOT
from tests.helpers.serving import start

README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.S)


@pytest.fixture
def admissions(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    ages = enumerate(rng.normal(50, 20, 2000))
    rows = "\n".join(f"{age:.1f},{i},{1 + i % 9}" for i, age in ages)
    (tmp_path / "admissions.csv").write_text(f"age,patient,days\n{rows}\n")
    return tmp_path


@pytest.mark.parametrize("python_first", [False, True])
def test_readme_commands(admissions, capsys, python_first):
    """From top to bottom in a folder that holds nothing but the records."""
    assert [path.name for path in admissions.iterdir()] == ["admissions.csv"]
    if python_first:
        exec(compile("\n".join(blocks("python")), "README.md", "exec"), {})
    text = "\n".join(blocks("console"))
    commands = [shlex.split(line)[2:] for line in text.splitlines() if line.startswith("$ mercer")]
    assert len(commands) == 16
    commands.remove(["serve", "releases"])  # stays until it is stopped: tests/cli/test_serve.py
    for arguments in commands:
        if python_first and arguments[0] in ("audit", "plan"):
            continue  # stand alone, and ran the other time
        try:
            main(arguments)
        except SystemExit as stop:
            assert not stop.code, (arguments, capsys.readouterr().err)
    assert (admissions / "my.json").exists()
    assert (admissions / "my.png").exists()
    names = ["admissions", "visits"] if python_first else ["visits"]
    assert sorted(Ledger.open("budgets.db").datasets) == names


def test_readme_python(admissions):
    exec(compile("\n".join(blocks("python")), "README.md", "exec"), {})
    assert (admissions / "smoother.png").exists()
    assert (admissions / "copy.json").exists()


@pytest.fixture
def patients(admissions, rng):
    age, bmi = rng.uniform(20, 90, 2000), rng.normal(27, 5, 2000)
    ill = np.where(age + 2 * bmi + rng.normal(0, 20, 2000) > 110, "ill", "healthy")
    ward = np.array(["north", "south", "west"])[np.digitize(age, [40, 70])]
    columns = zip(age, bmi, ill, ward, 100 + age / 2, strict=True)
    rows = "\n".join(f"{a:.1f},{b:.1f},{k},{w},{p:.1f}" for a, b, k, w, p in columns)
    (admissions / "patients.csv").write_text(f"age,bmi,outcome,ward,pressure\n{rows}\n")
    (admissions / "new.csv").write_text("name,bmi,age\nAnn,22,30\nBob,,80\n")
    t = np.linspace(0, 1, 41)
    heights = 0.5 + 0.1 * np.sin(6 * t) + 0.05 * rng.normal(size=(300, 1))
    lines = [
        ",".join(f"{h:.4f}" for h in row) + "," + ("ms" if i % 3 else "control")
        for i, row in enumerate(heights)
    ]
    names = ",".join(f"p{k:02d}" for k in range(41))
    (admissions / "profiles.csv").write_text(f"{names},case\n" + "\n".join(lines) + "\n")
    points = [
        f"{visit},{visit // 2},{hour:.2f},{2 + np.sin(hour / 4):.3f}"
        for visit in range(200)
        for hour in np.sort(rng.uniform(0, 24, 12))
    ]
    (admissions / "visits.csv").write_text("visit,person,hour,load\n" + "\n".join(points) + "\n")
    return admissions


@pytest.mark.parametrize(
    "page", ["density", "live", "machines", "curves", "tables", "counts", "weaker", "commands"]
)
def test_pages_with_examples(page, patients, capsys):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    for block in re.findall(r"```yaml\n(.*?)```", text, flags=re.S):
        (patients / "domain.yaml").write_text(block)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(compile(block, page, "exec"), names)
    for line in re.findall(r"^\$ mercer (.*)$", text, flags=re.M):
        try:
            main(shlex.split(line))
        except SystemExit as stop:
            assert not stop.code, (line, capsys.readouterr().err)


def test_tour_is_short_and_links_exist():
    tour = README.split("## A tour")[1].split("## What is promised")[0]
    assert len([line for line in tour.splitlines() if line.strip()]) <= 25
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), (page.name, target)


def curl(line, port):
    """What a line with curl asks for, without curl."""
    words = iter(
        shlex.split(
            line.replace("$(cat token)", Path("token").read_text().strip() if Path("token").exists() else "")
        )[1:]
    )
    method, headers, content, url, output = None, {}, None, "", None
    for word in words:
        if word == "-H":
            key, value = next(words).split(": ", 1)
            headers[key] = value
        elif word in ("-d", "--data-binary", "-T"):
            given = next(words)
            file = given.removeprefix("@") if word != "-d" else None
            content = Path(file).read_bytes() if file else given.encode()
            method = method or ("PUT" if word == "-T" else "POST")
        elif word == "-X":
            method = next(words)
        elif word == "-o":
            output = next(words)
        elif word != "-s":
            url = word.replace(":8000", f":{port}")
    answer = httpx.request(method or "GET", url, headers=headers, content=content, timeout=60)
    if output:
        Path(output).write_bytes(answer.content)
    return answer


def test_service_page(admissions):
    """Every command of docs/service.md, in order."""
    text = (ROOT / "docs" / "service.md").read_text()
    lines = [
        line[2:]
        for block in re.findall(r"```console\n(.*?)```", text, flags=re.S)
        for line in block.splitlines()
    ]
    assert len(lines) == 20
    process, port, answers = None, 0, []
    try:
        for line in lines:
            if line.startswith("mercer serve"):
                if process is not None:
                    process.terminate()
                    process.communicate(timeout=60)
                arguments = shlex.split(line.rstrip(" &"))[2:]
                process, port, _ = start(arguments)
            elif line.startswith("curl"):
                answers.append(curl(line, port))
                assert answers[-1].status_code in (200, 201), (line, answers[-1].text)
            elif line.startswith("mercer"):
                try:
                    main(shlex.split(line)[1:])
                except SystemExit as stop:
                    assert not stop.code
            else:
                subprocess.run(line, shell=True, check=True)
    finally:
        if process is not None:
            process.terminate()
            process.communicate(timeout=60)
    assert mercer.load("copy.json").privacy.epsilon == 1
    assert answers[5].text.startswith("age,value\n20.0,")
    assert answers[-1].json()["left"]["spent_epsilon"] == 1
    assert (admissions / "releases" / "retired" / "ages-2.json").exists()


SOURCE = ROOT / "src"
MODULES = [  # all that hold an example
    ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted(SOURCE.rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_documents_name_things_that_exist():
    """Every module and test named in the documents is there."""
    source = ROOT / "src" / "mercer"
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        for name in re.findall(r"`((?:tests|src|studies|benchmarks)/[\w./]+)", page.read_text()):
            assert (ROOT / name).exists(), (page.name, name)
    page = (ROOT / "docs" / "architecture.md").read_text()
    told = re.findall(r"^\| `(\w+)/` \|", page, flags=re.M)
    assert told == [name for name in told if (source / name).is_dir()]
    assert set(told) == {folder.name for folder in source.iterdir() if (folder / "__init__.py").exists()}


def test_demo_runs_and_says_what_it_made(tmp_path, monkeypatch, capsys):
    """Its first command has a process of its own, as all have for a person; the others run here."""
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples" / "demo.py")
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    start, started = subprocess.run, []

    def run(command, **options):
        started.append(command)
        if len(started) == 1:
            return start(command, **options)
        assert command[:3] == [sys.executable, "-m", "mercer"]
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                main(command[3:])
            except SystemExit as stop:
                assert not stop.code, command
        return subprocess.CompletedProcess(command, 0, said.getvalue())

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["demo.py", str(tmp_path)])
    demo.main()
    assert len(started) == 7
    last = capsys.readouterr().out.strip().splitlines()[-6:]
    assert last[0].startswith("Done. Promised: Differentially private with epsilon = 1")
    for name in ("admissions.csv", "ages.png", "ages.json", "stays.json", "live.db"):
        path = tmp_path / name if name in ("admissions.csv", "ages.png") else tmp_path / "releases" / name
        assert path.stat().st_size > 1000
        assert any(str(path) in line for line in last)
    assert f"serve {tmp_path / 'releases'}" in last[-1]
    monkeypatch.chdir(tmp_path)  # where the README goes on, as a person would
    for line in "\n".join(blocks("console")).splitlines():
        words = shlex.split(line)[2:]
        if line.startswith("$ mercer") and words[0] not in ("audit", "plan", "serve"):
            try:
                main(words)
            except SystemExit as stop:
                assert not stop.code, (words, capsys.readouterr().err)
