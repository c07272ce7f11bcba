# Two commands on a fresh machine with Python (3.10 or newer) and make:
#   make demo    evaluates the example data and prints the scores
#   make test    runs all tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test quick check format clean prism

demo: $(VENV)/installed
	@output=out/demo-$$(date +%Y%m%d-%H%M%S) && \
	$(BIN)/liangchi evaluate \
	  --hypotheses examples/chat/hypotheses --references examples/chat/references \
	  --output $$output

# Two halves at once, a core each; what the first says comes after the second. So that both take as
# long, some tests of the pipelines are in the second half.
MOVED := $(wildcard tests/pipelines/test_st*.py)
OTHERS := $(wildcard tests/test_*.py) \
  $(filter-out tests/pipelines/ tests/__pycache__/,$(wildcard tests/*/))

test: $(VENV)/installed-test
	@$(BIN)/python -m pytest tests/pipelines $(MOVED:%=--ignore=%) \
	  > $(VENV)/pipelines.txt 2>&1 & first=$$!; \
	code=0; $(BIN)/python -m pytest $(OTHERS) $(MOVED) || code=$$?; \
	wait $$first || code=$$?; cat $(VENV)/pipelines.txt; exit $$code

# Without the simulations and mutants.
quick: $(VENV)/installed-test
	$(BIN)/python -m pytest -m "not slow"

check: $(VENV)/installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Beam's Prism runner, of the version that Beam for Python has here, from the Go module proxy. Needs
# Go 1.26 or newer; .ci/run sees to it.
prism: $(VENV)/installed-prism

format: $(VENV)/installed-test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) out build *.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: setup.py constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/installed-test: setup.py constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]"
	touch $@ $(VENV)/installed

# The name of the binary has no version, so the stamp has: another Beam builds another one.
$(VENV)/installed-prism: constraints.txt runners/install_prism | $(VENV)/bin/python
	runners/install_prism $(BIN) $$(sed -n 's/^apache-beam==//p' constraints.txt)
	touch $@
