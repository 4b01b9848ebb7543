# Everything sets itself up: only Python, pip and make are needed.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
READY := $(VENV)/.ready
# A process for each core; each takes the next file in the order of tests/conftest.py.
WORKERS := -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := install
.PHONY: help install demo test test-all core coverage check wheel format torture bench clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@echo '1 of 3: an environment in $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@echo '2 of 3: PyTorch, about a minute'
	@$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	@echo '3 of 3: attn and its tools, about a minute'
	@$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

install: $(READY)  ## Install attn and its tools into .venv

demo: $(READY) promise box  ## Use the models in the box, then train one on embedded data for a minute
	$(RUN)/attn train -o runs/demo
	printf 'Does the old woman see the red car?\nThe young girl did not open the old door.\n' \
	  | $(RUN)/attn translate -m runs/demo
	echo 'The old woman sees the car. ||| Die alte Frau sieht das Auto.' \
	  | $(RUN)/attn align -m runs/demo --show
	@echo
	@echo 'Next:  . .venv/bin/activate'
	@echo '       attn translate -m runs/demo          # type English, read German'
	@echo '       attn evaluate -m runs/demo runs/demo/test.tsv --by-length'
	@echo '       attn models                          # what else can be trained'
	@echo '       attn train --help'
	@echo '       attn serve                           # the models as a page in the browser'

.PHONY: promise
promise: $(READY)
	@$(RUN)/attn train -o runs/demo --dry-run 2>/dev/null | sed -n 's/^time  */Training will take /p'

BOX := models/pretrained
.PHONY: box
box: $(READY)  ## Translate, caption a drawn scene and draw attention with the models in the box
	@if [ -d $(BOX)/everyday ]; then set -x; \
	  $(RUN)/attn translate --to de 'The train to Paris leaves at eight.' --show; fi
	@if [ -d $(BOX)/photos ]; then set -x; mkdir -p runs; \
	  $(RUN)/python -c 'from attncli.data import scenes; \
	    [scene] = scenes.split(0, 0, 1, seed=3).test; \
	    open("runs/scene.png", "wb").write(scenes.png(scene))'; \
	  $(RUN)/attn caption -m $(if $(wildcard $(BOX)/scenes),scenes,photos) runs/scene.png --show; fi

test: $(READY)  ## Run the tests
	$(RUN)/python -m pytest $(WORKERS) --durations=40

test-all: $(READY)  ## Run the tests, including slow ones
	$(RUN)/python -m pytest $(WORKERS) --durations=40 -m 'slow or not slow'

core: $(READY)  ## Run the tests of the core in a copy without the annexes
	rm -rf build/core
	$(RUN)/python -m tests.torn_down build/core
	cd build/core && PYTHONPATH=$(CURDIR)/build/core $(CURDIR)/$(RUN)/python -m pytest $(WORKERS)

coverage: $(READY)  ## Run the tests in twice the time, and print which lines they reach
	$(RUN)/python -m pytest $(WORKERS) --cov=attncli --cov=models --cov-report=term $(TESTS)

torture: $(READY)  ## Attack the program for some minutes: kills, full disks, hostile input
	$(RUN)/python -m tests.torture

check: $(READY)  ## Check style and types
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

wheel: $(READY)  ## Build the wheel, install it elsewhere and use it there
	$(RUN)/python .ci/check_wheel.py

format: $(READY)  ## Format the code and fix what ruff can fix
	$(RUN)/ruff format .
	$(RUN)/ruff check --fix .

bench: $(READY)  ## List the benchmarks; benchmarks/README.md has their figures
	@sed -n '/^## /p;/^    /p' benchmarks/README.md

clean:  ## Remove the environment and the demo run
	rm -rf $(VENV) runs/demo
