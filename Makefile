# Two commands for a fresh machine: `make demo` and `make test`. Each makes .venv by itself; uv is used when it is there.

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c 'import sys; sys.version_info >= (3, 11) and print("$(p)")' 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
SPEED ?= 20

ifneq ($(UV),)
CREATE = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
else
CREATE = $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

.PHONY: demo test check pictures bench lock clean

demo: $(VENV)/.run                      ## the whole product, with no GPU and no config
	@$(BIN)/longwait demo --speed $(SPEED)

test: check                             ## format, lint, types, contracts and tests: what CI runs
	$(BIN)/python -m pytest -n 4 --dist loadscope

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

$(VENV)/.run: pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "longwait needs Python 3.11 or newer; none was found. Install it, or say where: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Making $(VENV) (once)..."
	@$(CREATE)
	@$(INSTALL) --require-hashes --requirement requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.lock
	@$(INSTALL) --require-hashes --requirement requirements-dev.lock
	@touch $@

pictures: $(VENV)/.run                  ## docs/*.svg, made by running the demo
	$(BIN)/python -m bench.pictures

bench: $(VENV)/.dev                     ## the figures of the README
	$(BIN)/python -m bench.figures
	$(BIN)/python -m bench.ingest

LOCK = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url

lock:                                   ## renew the lock files (needs uv)
	$(LOCK) --group build pyproject.toml --output-file requirements.lock
	$(LOCK) --group dev pyproject.toml --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
