"""The layers of the design hold: no module looks up, across, or from the right to the left."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

ROOT = Path(mercer.__file__).parent
LAYERS = {
    0: ["version", "checks", "quiet", "fields", "disk", "privacy", "entropy"],
    1: [
        "column_rules",
        "column_base",
        "columns",
        "domain",
        "formats",
        "reading",
        "declarations",
        "table_domain",
        "series",
        "kernels",
        "markov",
        "bridges",
        "bridge_points",
        "accountants",
        "statements",
        "exact",
        "orbitope",
        "laws",
        "composition",
        "random_statements",
        "random_rules",
        "filters",
        "bases",
        "losses",
        "maps",
        "polynomials",
        "modes",
        "record_kernels",
        "record_spans",
        "column_laws",
        "designs",
        "axes",
        "binning",
        "clauses",
        "count_laws",
        "whole_draws",
        "count_losses",
        "optimal_counts",
        "counting_programs",
        "lower_bounds",
    ],
    2: [
        "sensitive",
        "names",
        "folders",
        "headers",
        "tables",
        "cell_sorts",
        "cells",
        "cell_levels",
        "frames",
        "targets",
        "answers",
        "typed_columns",
        "matrices",
        "labels",
        "rows",
        "data",
        "files",
        "folding",
        "persons",
        "record_data",
        "curve_points",
        "curve_chunks",
        "curve_grids",
        "curve_fda",
        "curve_data",
        "curve_groups",
        "summaries",
        "rules",
        "rules_pure",
        "rules_machines",
        "rules_curves",
    ],
    3: ["mechanisms"],
    4: [
        "findings",
        "density_findings",
        "cell_findings",
        "function_findings",
        "release",
        "densities",
        "embedding_smoothing",
        "weightings",
        "conditions",
        "weighted",
        "cell_questions",
        "sparse_questions",
        "cell_releases",
        "cell_storage",
        "count_releases",
        "cell_accuracy",
        "noisy_embeddings",
        "weights_of",
        "refinement",
        "table_accuracy",
        "two_samples",
        "own_rows",
        "table_outputs",
        "table_releases",
        "record_releases",
        "marginals",
        "table_sheets",
        "plotting_tables",
        "plotting_cells",
        "plotting_counts",
        "table_storage",
        "margin_parts",
        "margin_fits",
        "margin_releases",
        "margin_storage",
        "margin_accuracy",
        "machines",
        "predictors",
        "smoothing",
        "storage",
        "functionals",
        "curve_smoothing",
        "curve_draws",
        "noisy_curves",
        "curves",
        "plotting_machines",
        "plotting_curves",
        "plotting",
        "choices",
        "reduced_space",
        "reduced_waves",
        "reduced_torch",
        "reduced_weights",
        "reduced_descent",
        "reduced_moves",
        "reduced_starts",
        "reduced_sets",
        "count_smoothing",
        "histogram_densities",
        "statistic_releases",
    ],
    5: [
        "ledger_store",
        "ledger_rows",
        "claims",
        "remaining",
        "ledger",
        "publish",
        "calls",
        "expected_choices",
        "random_draws",
        "recipes",
        "machine_recipes",
        "curve_recipes",
        "table_recipes",
        "column_law_draws",
        "small_databases",
        "cell_draws",
        "optimal_draws",
        "centers",
        "draws",
        "bandwidths",
        "selection",
        "live_store",
        "live_memory",
        "live_pens",
        "live_tables",
        "live_sqlite",
        "live_databases",
        "live_releases",
        "live_markov",
        "live_cholesky",
        "live_machines",
    ],
    6: [
        "expected",
        "api",
        "learner",
        "learning",
        "averager",
        "averaging",
        "table_maker",
        "own_synthesis",
        "count_asked",
        "histograms",
        "counting",
        "margin_tables",
        "histogram_plans",
        "synthesis",
        "lives",
        "planning",
        "weaker",
        "estimators",
        "learners",
        "curve_estimators",
        "synthesizers",
        "curve_bounds",
        "worst",
        "audits",
        "replay_runs",
        "replays",
        "terminal",
        "terminal_bounds",
        "terminal_places",
        "cli_terms",
        "terminal_machines",
        "terminal_curves",
        "table_plans",
        "table_drafts",
        "terminal_conditions",
        "terminal_tables",
        "terminal_cells",
        "terminal_counts",
        "cli_audit",
        "cli_choices",
        "cli_ledger",
        "cli_live",
        "cli_plan",
        "cli_machines",
        "cli_predict",
        "cli_curves",
        "cli_tables",
        "cli_cells",
        "cli_counts",
        "cli_releases",
        "server",
        "cli_serve",
        "cli",
        "__main__",
    ],
}
LAYER = {name: layer for layer, names in LAYERS.items() for name in names}
LEFT = {
    "headers",
    "data",
    "sensitive",
    "answers",
    "targets",
    "typed_columns",
    "matrices",
    "labels",
    "files",
    "folding",
    "names",
    "persons",
    "cell_sorts",
    "cells",
    "cell_levels",
    "frames",
    "rows",
    "record_data",
    "curve_points",
    "curve_chunks",
    "curve_fda",
    "curve_data",
    "curve_groups",
    "summaries",
    "mechanisms",
}  # may hold records, or meet them
RIGHT = set(LAYERS[4])
# within a layer, a module may use those before it
ORDER = {name: place for names in LAYERS.values() for place, name in enumerate(names)}
SAME_LAYER = {
    ("cli", "cli_live"), ("cli_live", "terminal"), ("cli_live", "lives"), ("cli_live", "terminal_machines"), ("bridge_points", "kernels"), ("bridge_points", "bridges"), ("bridges", "kernels"), ("bridges", "markov"), ("live_store", "live_databases"), ("live_store", "live_memory"),
    ("live_memory", "live_store"), ("live_tables", "live_store"), ("live_pens", "live_store"), ("live_tables", "live_pens"), ("live_databases", "live_pens"),
    ("live_markov", "live_releases"), ("live_markov", "live_store"), ("live_databases", "live_sqlite"),
    ("live_sqlite", "live_pens"), ("live_sqlite", "live_store"), ("live_sqlite", "live_tables"),
    ("live_databases", "live_store"), ("live_databases", "live_tables"), ("live_releases", "live_store"),
    ("live_cholesky", "live_releases"), ("live_machines", "live_releases"), ("live_machines", "live_store"), ("live_cholesky", "live_store"), ("lives", "api"),
    ("machines", "release"), ("storage", "predictors"), ("predictors", "machines"), ("plotting_machines", "predictors"), ("data", "sensitive"), ("data", "answers"), ("answers", "sensitive"), ("answers", "targets"), ("typed_columns", "tables"), ("matrices", "typed_columns"), ("labels", "matrices"), ("labels", "typed_columns"), ("learning", "learner"), ("learner", "api"), ("plotting", "plotting_machines"), ("plotting", "machines"), ("plotting_machines", "machines"),
    ("learners", "estimators"), ("learners", "learning"), ("terminal_machines", "terminal"), ("cli_machines", "terminal"), ("cli_machines", "terminal_machines"), ("cli_machines", "learning"), ("cli_predict", "terminal"), ("cli_predict", "terminal_machines"), ("cli", "cli_machines"), ("cli", "cli_predict"),
    ("machine_recipes", "publish"), ("data", "files"), ("maps", "bases"), ("maps", "kernels"), ("audits", "worst"), ("replays", "replay_runs"), ("cli_audit", "audits"), ("cli_audit", "terminal"), ("cli", "cli_audit"), ("cli", "cli_plan"), ("cli_plan", "terminal"), ("cli_plan", "planning"),
    ("machines", "release"), ("storage", "predictors"), ("predictors", "machines"), ("plotting_machines", "predictors"), ("data", "sensitive"), ("data", "answers"), ("answers", "sensitive"), ("answers", "targets"), ("learning", "learner"), ("learner", "api"), ("plotting", "plotting_machines"), ("plotting", "machines"), ("plotting_machines", "machines"),
    ("learners", "estimators"), ("learners", "learning"), ("terminal_machines", "terminal"), ("cli_machines", "terminal"), ("cli_machines", "terminal_machines"), ("cli_machines", "learning"), ("cli_predict", "terminal"), ("cli_predict", "terminal_machines"), ("cli", "cli_machines"), ("cli", "cli_predict"),
    ("machine_recipes", "publish"), ("data", "files"), ("maps", "bases"), ("maps", "kernels"), ("audits", "worst"), ("cli_audit", "audits"), ("cli_audit", "terminal"), ("cli", "cli_audit"), ("cli", "cli_plan"), ("cli_plan", "terminal"), ("cli_plan", "planning"),
    ("statements", "accountants"), ("laws", "orbitope"), ("rules_pure", "rules"),
    ("release", "storage"), ("release", "plotting"),
    ("storage", "densities"), ("plotting", "densities"), ("densities", "smoothing"),
    ("curve_groups", "curve_data"), ("curve_groups", "curve_chunks"), ("curve_groups", "data"), ("curve_groups", "persons"),
    ("curve_groups", "tables"), ("plotting", "plotting_curves"), ("plotting", "noisy_curves"), ("plotting_curves", "curves"),
    ("plotting_curves", "noisy_curves"), ("curve_estimators", "averaging"), ("curve_estimators", "estimators"), ("terminal_curves", "terminal"),
    ("cli_curves", "averaging"), ("cli_curves", "terminal"),
    ("cli_curves", "terminal_curves"), ("cli", "cli_curves"),
    ("summaries", "data"),
    ("data", "tables"),
    ("summaries", "persons"),
    ("curve_points", "sensitive"), ("quiet", "checks"), ("curve_chunks", "curve_points"), ("curve_chunks", "data"), ("curve_chunks", "persons"), ("curve_chunks", "sensitive"),
    ("curve_fda", "curve_chunks"), ("curve_fda", "curve_grids"), ("curve_data", "curve_chunks"), ("curve_data", "curve_fda"), ("curve_data", "curve_grids"), ("curve_data", "curve_points"), ("curve_data", "data"), ("curve_data", "files"), ("curve_data", "tables"),
    ("summaries", "folding"), ("bases", "kernels"), ("bases", "domain"),
    ("bases", "markov"), ("bases", "series"), ("markov", "kernels"), ("cli", "api"),
    ("__main__", "cli"), ("cli", "terminal"), ("estimators", "api"), ("densities", "release"),
    ("composition", "accountants"), ("filters", "accountants"), ("filters", "composition"),
    ("ledger_rows", "ledger_store"), ("claims", "ledger_store"), ("ledger", "ledger_store"),
    ("ledger", "ledger_rows"), ("ledger", "claims"), ("ledger", "remaining"), ("remaining", "ledger_store"), ("publish", "ledger"),
    ("cli", "cli_ledger"), ("cli_ledger", "terminal"),
    ("storage", "release"), ("plotting", "release"),
    ("draws", "publish"), ("draws", "recipes"), ("bandwidths", "draws"), ("bandwidths", "publish"), ("selection", "bandwidths"),
    ("selection", "draws"), ("selection", "publish"), ("cli", "cli_choices"), ("cli_choices", "terminal"),
    ("modes", "kernels"), ("modes", "polynomials"), ("summaries", "curve_data"), ("summaries", "rules_curves"),
    ("curve_draws", "curve_smoothing"), ("noisy_curves", "curve_draws"), ("curves", "curve_draws"), ("noisy_curves", "functionals"), ("noisy_curves", "release"), ("noisy_curves", "plotting"), ("curves", "curve_smoothing"), ("curves", "noisy_curves"), ("curves", "release"), ("storage", "curves"),
    ("averaging", "averager"),
    ("columns", "column_base"), ("columns", "column_rules"), ("declarations", "columns"), ("table_domain", "columns"), ("table_domain", "declarations"),
    ("record_data", "cells"), ("record_data", "files"), ("record_data", "tables"), ("cells", "tables"), ("cells", "cell_sorts"),
    ("reduced_torch", "reduced_waves"), ("reduced_descent", "reduced_space"), ("reduced_descent", "reduced_waves"), ("reduced_descent", "reduced_weights"),
    ("reduced_moves", "reduced_descent"), ("reduced_moves", "reduced_space"), ("reduced_starts", "reduced_descent"), ("reduced_starts", "reduced_moves"),
    ("reduced_sets", "reduced_descent"), ("reduced_sets", "reduced_moves"), ("reduced_sets", "reduced_space"), ("reduced_sets", "reduced_starts"),
    ("reduced_sets", "reduced_torch"), ("reduced_sets", "reduced_waves"), ("reduced_sets", "reduced_weights"),
    ("cli", "cli_serve"), ("cli_serve", "server"), ("server", "api"), ("server", "lives"),
    ("column_laws", "columns"), ("column_laws", "table_domain"), ("refinement", "noisy_embeddings"), ("refinement", "weighted"), ("refinement", "weightings"), ("refinement", "weights_of"), ("designs", "table_domain"), ("noisy_embeddings", "embedding_smoothing"), ("record_kernels", "kernels"),
    ("record_kernels", "table_domain"), ("record_releases", "noisy_embeddings"), ("record_releases", "release"), ("record_releases", "two_samples"),
    ("record_releases", "weighted"), ("record_releases", "weightings"), ("record_releases", "weights_of"), ("small_databases", "publish"),
    ("small_databases", "table_recipes"), ("storage", "table_storage"), ("summaries", "record_data"), ("summaries", "sensitive"),
    ("synthesis", "own_synthesis"), ("synthesis", "table_maker"), ("table_accuracy", "noisy_embeddings"), ("table_outputs", "noisy_embeddings"),
    ("table_outputs", "own_rows"), ("table_outputs", "table_releases"), ("table_releases", "embedding_smoothing"), ("table_releases", "noisy_embeddings"),
    ("table_releases", "release"), ("table_releases", "table_accuracy"), ("table_releases", "table_outputs"), ("table_releases", "two_samples"),
    ("table_releases", "weighted"), ("table_releases", "weightings"), ("table_releases", "weights_of"), ("table_storage", "embedding_smoothing"),
    ("table_storage", "noisy_embeddings"), ("table_storage", "record_releases"), ("table_storage", "table_releases"), ("two_samples", "noisy_embeddings"),
    ("weights_of", "noisy_embeddings"), ("weights_of", "weightings"),
    ("marginals", "table_releases"), ("marginals", "weighted"), ("plotting", "plotting_tables"), ("plotting", "table_releases"),
    ("plotting", "table_sheets"), ("plotting_tables", "marginals"), ("plotting_tables", "table_releases"), ("plotting_tables", "table_sheets"),
    ("table_releases", "conditions"), ("table_sheets", "marginals"), ("table_sheets", "table_releases"),
    ("cli", "cli_releases"), ("cli", "cli_tables"),
    ("cli_releases", "terminal"), ("cli_releases", "terminal_curves"), ("cli_releases", "terminal_machines"), ("cli_releases", "terminal_tables"),
    ("cli_tables", "synthesis"), ("cli_tables", "table_drafts"),
    ("cli_tables", "table_plans"), ("cli_tables", "terminal"), ("cli_tables", "terminal_tables"),
    ("terminal_tables", "table_plans"), ("terminal_tables", "terminal"),
    ("synthesizers", "estimators"), ("synthesizers", "synthesis"),
    ("cli", "cli_counts"), ("cli_cells", "terminal"), ("cli_cells", "terminal_counts"), ("cli_counts", "cli_cells"),
    ("cli_counts", "counting"), ("cli_counts", "histograms"),
    ("cli_counts", "terminal_conditions"), ("cli_counts", "weaker"), ("cli_plan", "histogram_plans"),
    ("cli_releases", "terminal_counts"), ("plotting", "plotting_counts"), ("plotting_cells", "cell_releases"),
    ("plotting_cells", "marginals"), ("plotting_counts", "cell_releases"), ("plotting_counts", "count_releases"),
    ("plotting_counts", "margin_releases"), ("plotting_counts", "marginals"), ("plotting_counts", "plotting_cells"),
    ("plotting_counts", "statistic_releases"), ("terminal_cells", "terminal"), ("terminal_conditions", "terminal"),
    ("terminal_counts", "terminal"), ("terminal_counts", "terminal_cells"), ("terminal_counts", "terminal_conditions"),
    ("terminal_tables", "terminal_conditions"),
    ("histogram_densities", "cell_releases"), ("histogram_densities", "densities"), ("histogram_densities", "smoothing"),
    ("random_statements", "accountants"), ("random_statements", "composition"), ("random_rules", "composition"),
    ("statistic_releases", "count_releases"), ("statistic_releases", "release"), ("statistic_releases", "weighted"), ("storage", "statistic_releases"),
    ("random_draws", "claims"), ("random_draws", "ledger"), ("weaker", "counting"),
    ("optimal_counts", "count_losses"), ("optimal_counts", "exact"), ("counting_programs", "count_losses"), ("counting_programs", "optimal_counts"),
    ("lower_bounds", "optimal_counts"),
    ("margin_fits", "margin_parts"), ("margin_releases", "cell_questions"), ("margin_releases", "cell_releases"),
    ("margin_releases", "margin_fits"), ("margin_releases", "release"), ("margin_releases", "weighted"),
    ("margin_storage", "cell_storage"), ("margin_storage", "margin_parts"), ("margin_storage", "margin_releases"),
    ("storage", "margin_storage"), ("margin_releases", "margin_accuracy"), ("margin_accuracy", "margin_releases"),
    ("axes", "columns"), ("binning", "axes"), ("binning", "columns"), ("binning", "table_domain"), ("cell_accuracy", "cell_releases"),
    ("cell_accuracy", "count_releases"), ("cell_draws", "publish"), ("cell_questions", "conditions"), ("cell_questions", "weighted"),
    ("cell_releases", "cell_accuracy"), ("cell_releases", "cell_questions"), ("cell_releases", "cell_storage"), ("cell_releases", "release"),
    ("cell_releases", "weighted"), ("cell_storage", "cell_releases"), ("clauses", "axes"), ("clauses", "columns"), ("cli", "cli_counts"),
    ("cli_cells", "terminal"), ("cli_cells", "terminal_counts"), ("cli_counts", "cli_cells"),
    ("cli_counts", "counting"), ("cli_counts", "histograms"),
    ("cli_counts", "terminal_conditions"), ("cli_counts", "weaker"), ("cli_plan", "histogram_plans"), ("cli_releases", "terminal_counts"),
    ("count_releases", "cell_accuracy"), ("count_releases", "cell_questions"), ("count_releases", "release"), ("count_releases", "weighted"),
    ("histograms", "margin_tables"), ("optimal_draws", "publish"),
    ("persons", "sensitive"), ("persons", "names"), ("tables", "names"), ("plotting", "plotting_counts"), ("plotting_cells", "cell_releases"), ("plotting_cells", "marginals"),
    ("plotting_counts", "cell_releases"), ("plotting_counts", "count_releases"), ("plotting_counts", "margin_releases"),
    ("plotting_counts", "marginals"), ("plotting_counts", "plotting_cells"), ("plotting_counts", "statistic_releases"), ("storage", "cell_storage"),
    ("storage", "count_releases"), ("terminal_cells", "terminal"), ("terminal_conditions", "terminal"), ("terminal_counts", "terminal"),
    ("terminal_counts", "terminal_cells"), ("terminal_counts", "terminal_conditions"), ("terminal_tables", "terminal_conditions"),
    ("whole_draws", "exact"),
    ("cell_releases", "count_smoothing"), ("cell_releases", "histogram_densities"),
    ("cell_releases", "sparse_questions"), ("counting", "count_asked"), ("histograms", "count_asked"), ("margin_tables", "count_asked"), ("sparse_questions", "cell_questions"), ("sparse_questions", "weighted"), ("weaker", "count_asked"),
    ("axes", "column_base"), ("axes", "column_rules"), ("clauses", "column_rules"),
    ("answers", "frames"), ("calls", "publish"), ("cell_levels", "cells"),
    ("cell_sorts", "tables"), ("data", "cell_levels"), ("data", "cells"),
    ("data", "frames"), ("data", "rows"), ("domain", "column_base"),
    ("domain", "columns"), ("frames", "cells"), ("frames", "tables"),
    ("reading", "formats"), ("record_data", "cell_levels"), ("record_data", "frames"),
    ("record_data", "rows"), ("rows", "cells"), ("rows", "sensitive"),
    ("targets", "cell_levels"), ("targets", "cells"),
    ("api", "expected"), ("counting", "expected"), ("expected", "histogram_plans"),
    ("expected", "margin_tables"), ("expected", "planning"), ("expected", "table_plans"),
    ("histograms", "expected"), ("learning", "expected"), ("lives", "expected"),
    ("selection", "calls"), ("selection", "expected_choices"), ("synthesis", "expected"),
    ("bandwidths", "calls"), ("bandwidths", "expected_choices"), ("random_draws", "publish"),
    ("weaker", "expected"),
    ("headers", "folders"), ("files", "folders"), ("files", "headers"), ("data", "folders"), ("data", "headers"),
    ("record_data", "folders"), ("curve_data", "folders"), ("curve_data", "headers"), ("curve_groups", "headers"),
    ("record_data", "headers"),
    ("density_findings", "findings"), ("density_findings", "densities"), ("densities", "density_findings"), ("densities", "findings"),
    ("cell_findings", "findings"), ("cell_findings", "cell_releases"), ("cell_findings", "count_releases"), ("cell_findings", "margin_releases"),
    ("cell_releases", "cell_findings"), ("cell_releases", "findings"), ("count_releases", "cell_findings"), ("count_releases", "findings"),
    ("margin_releases", "cell_findings"), ("margin_releases", "findings"), ("statistic_releases", "findings"), ("release", "findings"),
    ("function_findings", "findings"), ("function_findings", "noisy_embeddings"), ("function_findings", "curves"), ("function_findings", "machines"),
    ("function_findings", "record_releases"), ("function_findings", "table_releases"), ("curves", "function_findings"), ("curves", "findings"),
    ("machines", "function_findings"), ("machines", "findings"), ("record_releases", "function_findings"), ("record_releases", "findings"),
    ("table_releases", "function_findings"), ("table_releases", "findings"), ("choices", "findings"),
    ("averaging", "expected"), ("curve_bounds", "expected"),
    ("cli", "cli_terms"), ("cli", "terminal_bounds"), ("cli", "terminal_places"),
    ("cli_audit", "cli_terms"), ("cli_cells", "cli_terms"), ("cli_cells", "terminal_bounds"),
    ("cli_cells", "terminal_places"), ("cli_choices", "cli_terms"),
    ("cli_choices", "terminal_bounds"), ("cli_choices", "terminal_places"),
    ("cli_counts", "cli_terms"), ("cli_counts", "terminal_places"), ("cli_curves", "cli_terms"),
    ("cli_curves", "terminal_bounds"), ("cli_curves", "terminal_places"),
    ("cli_ledger", "cli_terms"), ("cli_live", "cli_terms"), ("cli_live", "terminal_bounds"),
    ("cli_machines", "cli_terms"), ("cli_machines", "terminal_bounds"),
    ("cli_machines", "terminal_places"), ("cli_plan", "cli_terms"),
    ("cli_plan", "terminal_bounds"), ("cli_predict", "cli_terms"),
    ("cli_predict", "terminal_places"), ("cli_releases", "cli_terms"),
    ("cli_tables", "cli_terms"), ("cli_tables", "terminal_places"), ("cli_terms", "terminal"),
    ("terminal_bounds", "terminal"),
    ("choices", "storage"),
    ("cli_live", "terminal_places"),
    ("curve_points", "cells"), ("labels", "cells"), ("matrices", "cells"),
    ("typed_columns", "cells"),
    ("curve_grids", "headers"),
}  # fmt: skip


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts != ("__init__",):
            yield parts[0], path


def imported(path):
    """Top-level parts of mercer that a file imports anywhere, functions included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            parts = node.module.split(".")
            if parts[0] == "mercer":
                names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
                yield from names
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "mercer" and len(parts) > 1:
                    yield parts[1]


CASES = [(name, path) for name, path in modules()]


def test_every_module_has_a_layer():
    assert {name for name, _ in CASES} == set(LAYER)
    assert sum(map(len, LAYERS.values())) == len(LAYER)  # and one only


@pytest.mark.parametrize(
    ("name", "path"), CASES, ids=lambda v: v.name if isinstance(v, Path) else v
)
def test_imports_point_down(name, path):
    for other in set(imported(path)) - {name}:
        if LAYER[other] == LAYER[name]:
            assert (name, other) in SAME_LAYER, f"{name} may not import {other}"
        else:
            assert LAYER[other] < LAYER[name], f"{name} may not import {other}"
        assert not (name in RIGHT and other in LEFT), f"{name} is right of the door, {other} left"


def test_the_page_names_every_module_once_in_its_layer():
    page = (ROOT.parent.parent / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (\d) \| ([^|]*) \|", page, re.M)
    named = {int(layer): re.findall(r"`(\w+)/?`", modules) for layer, modules in rows}
    assert len(rows) == len(LAYERS)
    for layer, modules in LAYERS.items():
        assert sorted(named[layer]) == sorted(name for name in modules if name != "__main__")


def test_the_walk_would_see_a_wrong_import(tmp_path):
    bad = tmp_path / "release.py"
    bad.write_text("def f():\n    from mercer.sensitive.data import open_rows\n")
    assert list(imported(bad)) == ["data"]


def test_randomness_comes_from_entropy_alone():
    for name, path in CASES:
        text = path.read_text()
        if name != "entropy":
            calls = text.replace("np.random.Generator", "")
            assert "np.random." not in calls, path
            assert not re.search(r"^\s*(import random\b|from random import)", text, re.M), path
            assert "secrets" not in text, path


def test_import_is_quick():
    """Under a second: nothing heavy is loaded before it is used (import time is not asserted)."""
    program = (
        "import sys, mercer; heavy = {'opendp', 'sklearn', 'pyarrow', 'matplotlib', 'scipy', 'typer', 'psycopg', 'dp_accounting', 'fastapi', 'starlette', 'pydantic', 'uvicorn', 'sqlalchemy', 'orjson', 'skfda', 'yaml', 'torch', 'numba'}"
        "; print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_modules_stay_short():
    for _, path in CASES:
        assert len(path.read_text().splitlines()) <= 400, path
