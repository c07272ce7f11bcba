# Two commands on a fresh machine with Python (3.10 or newer) and make:
#   make demo    evaluates the example data and prints the scores
#   make test    runs all tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test quick check format clean prism flink

demo: $(VENV)/installed
	@output=out/demo-$$(date +%Y%m%d-%H%M%S) && \
	$(BIN)/liangchi evaluate \
	  --hypotheses examples/chat/hypotheses --references examples/chat/references \
	  --output $$output

# A process a core and one more, for some tests wait for what they started. Each begins with its
# share of the tests, and takes some from another when it has none left. More than 5 processes want
# more memory than many a machine has.
PROCESSES := $(shell expr 1 + `nproc 2>/dev/null || echo 2`)

test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(PROCESSES) --maxprocesses 5 --dist worksteal

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

# A Flink cluster for the tests, from Maven Central. Needs Java 11 or 17 and Maven; .ci/run sees to
# it.
flink: $(VENV)/installed-flink

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

$(VENV)/installed-flink: tests/runners/install_flink tests/runners/flink_jars.xml | $(VENV)/bin/python
	tests/runners/install_flink $(VENV)/flink/gradle/wrapper
	touch $@
