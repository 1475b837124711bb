# Two commands do everything on a fresh machine with Python 3.11+, pip and make:
#   make demo   release a density from sample records, look at it
#   make test   all tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test processors lint types peers clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("mercer needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/python examples/demo.py

test: $(VENV)/.ready
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

# the tests of linear algebra with the kernels of other processors, on 1, 2 and 8 threads
processors: $(VENV)/.ready
	$(BIN)/python .ci/processors

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

# what the studies and benchmarks compare with
peers: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet -e '.[peers]'

clean:
	rm -rf $(VENV) demo-output
