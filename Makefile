# Everyday commands; `make` alone lists them. All that is needed is Python 3.11 or newer.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV ?= .venv
WORKERS ?= 2
EXTRAS := tune,report,tournament,render,onnx,dev
# `python3` if it will do, else the first that will: at least 3.11, with what makes virtual environments.
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14 python; do \
    $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
    && echo $$python && break; done)

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# What `make demo` runs, in this order.
DEMO_RUN ?= runs/demo
# 4,000 games for each pair of the four agents.
DEMO_GAMES ?= 24000

.PHONY: help
help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml constraints.txt
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	    python="$(PYTHON)"; \
	    test -n "$$python" || { echo "No Python 3.11 or newer with the venv module was found." \
	        "Name one: make PYTHON=/path/to/python $(MAKECMDGOALS)" >&2; exit 1; }; \
	    echo "Creating $(VENV) with $$python"; \
	    $$python -m venv --clear $(VENV); \
	fi
	@echo "Installing trialea and what it needs into $(VENV) (minutes, the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

.PHONY: install
install: $(INSTALLED) ## create .venv and install everything into it

.PHONY: demo
demo: $(INSTALLED) ## train an agent for a few minutes, measure it, write a report
	rm -rf $(DEMO_RUN)
	$(BIN)/trialea train configs/demo.yaml --out $(DEMO_RUN)
	$(BIN)/trialea evaluate no_dice $(DEMO_RUN) random greedy solver --games $(DEMO_GAMES) \
	    --report $(DEMO_RUN)/report.html

.PHONY: test
test: $(INSTALLED) ## run the tests, then those marked `nojit` again as plain Python
	$(PYTEST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m "nojit and not slow" tests/agents tests/envs

.PHONY: test-slow
test-slow: $(INSTALLED) ## run the tests that take long
	$(PYTEST) -m slow

.PHONY: results
results: $(INSTALLED) ## measure the zoo, and write the figures into the docs
	$(BIN)/python -m trialea.benchmarks.results

.PHONY: lint
lint: $(INSTALLED) ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: format
format: $(INSTALLED) ## repair style and formatting where that is safe
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: wheel
wheel: $(INSTALLED) ## build sdist and wheel into dist/, and check that the wheel is complete
	rm -rf dist
	$(BIN)/python -m build --outdir dist . >/dev/null
	$(BIN)/python .ci/check_wheel.py dist/*.whl

.PHONY: types
types: wheel ## type-check the built package
	.ci/types $(BIN)

.PHONY: installed
installed: wheel ## use the wheel outside the tree, with the newest Gymnasium and the oldest tested
	.ci/installed $(BIN)

.PHONY: examples
examples: wheel ## run examples/ with the wheel, outside the tree
	.ci/examples $(BIN)

.PHONY: bench
bench: $(INSTALLED) ## measure speed against peers
	$(BIN)/trialea bench

.PHONY: clean
clean: ## delete build outputs and caches (not .venv, not runs/)
	rm -rf build dist *.egg-info examples/*/build examples/*/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf

.PHONY: distclean
distclean: clean ## `clean`, and .venv too
	rm -rf $(VENV)
