# make demo    set everything up, write the example files, and tour the main job with them
# make test    set everything up and run the tests of every package, and of the servers a core: three to six minutes
# make test-all  every test, on more examples: 12 to 32 minutes, by the machine
# make check   lint, formatting, types, import rules, plain language, the budget of lines, the reference, figures on pages
# make bench   the measurements of benchmarks/: an hour or so; `make bench ONLY=evaluation` makes one part anew;
#              then the figures on the pages are written from the results
# make drill   the drills of docs/reliability.md at full size: hours; `make drill ONLY=relations SEED=7 MINUTES=20` one, on other
#              cases, of which the next run does the rest
# make drill-small   a few cases of each, as in continuous integration; make drill-replay ID=2-N1 the tests of a found defect
# make bench-smoke  each of them with little to do, to see that they run, and that cuihop is as fast beside other tools as recorded
# make docs     the documentation as web pages, in build/docs; works without a network
# make reference  docs/reference written anew from the code: commands, settings, HTTP, gRPC, Python
# make links    every link to elsewhere is followed; needs the network
# make tutorial  docs/tutorial.ipynb executed anew, with its outputs
# make stubs   the code of the contract in proto/, made anew with the pinned generator
# make vendor  the libraries that the explorer's pages load, fetched anew and held to their lock file (needs npm)
# make containers  the image built, docker-compose.yml started and broken, with a Docker engine: some minutes
# make sbom    the Python packages of the image IMAGE (cuihop), as CycloneDX in build/sbom.cdx.json; needs a container engine
# make model-environment  torch and transformers in .cache/caption-models, for the tests of measures of captions by models: 6 GB
# make request-environment  schemathesis in .cache/schemathesis, for the drill hostile_requests, which makes it if need be
# make fuzzing-environment  Atheris in .cache/atheris, for the drill fuzzed_readers, which makes it if need be
# make fhir-environment  fhir.resources in .cache/fhir-definitions, for the test of answers in FHIR
# make neo4j   a real Neo4j server on this machine, until Ctrl-C, on the ports NEO4J_PORT (7687) and NEO4J_HTTP_PORT (7474);
#              data in NEO4J_DATA, default .cache/neo4j (needs a JDK, Maven)
#
# uv is used where it is installed; else Python's own venv and pip. Nothing outside this folder is written, but for the
# caches of uv and pip. PYTHON=python3.12 chooses another interpreter.

# Where an image forbids Python to keep what it has compiled, each start of a program takes twice as long.
export PYTHONDONTWRITEBYTECODE =

PYTHON ?= python3
PYTEST_ARGS ?=
UV := $(shell command -v uv 2>/dev/null)
BIN := .venv/bin
READY := .venv/.ready

DOCKER ?= docker
IMAGE ?= cuihop

MODELS := .cache/caption-models
MODELS_INSTALL = $(if $(UV),$(UV) pip install --python $(MODELS)/bin/python,$(MODELS)/bin/python -m pip install) --quiet

REQUESTS := .cache/schemathesis
FUZZING := .cache/atheris
FHIR := .cache/fhir-definitions

NEO4J_DATA ?= .cache/neo4j
NEO4J_PORT ?= 7687
NEO4J_HTTP_PORT ?= 7474

.PHONY: demo test test-all check bench bench-smoke drill drill-small drill-replay docs reference links tutorial stubs vendor model-environment request-environment fuzzing-environment fhir-environment neo4j containers sbom clean

demo: $(READY)
	@$(BIN)/cuihop demo --tour

IN_PROCESSES = $(BIN)/python -m pytest --quiet -n auto --dist loadgroup --no-loadscope-reorder

# Several processes share the processors already.
test test-all: export OPENBLAS_NUM_THREADS = 1
test test-all: export OMP_NUM_THREADS = 1

test: $(READY)
	@$(IN_PROCESSES) --short $(PYTEST_ARGS)

test-all: $(READY)
	@$(IN_PROCESSES) --hypothesis-profile=all $(PYTEST_ARGS)

check: $(READY)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m cuihop_tools.plain_language client service graph_loader tools tests drills docs .github $(wildcard *.md)
	$(BIN)/python -m cuihop_tools.budget
	$(BIN)/python docs/site/write_reference.py --check
	$(BIN)/python docs/site/page_figures.py --check
	$(BIN)/python -m drills.page --check

bench: $(READY)
	$(BIN)/python -m benchmarks $(addprefix --only ,$(ONLY))
	$(BIN)/python docs/site/page_figures.py

bench-smoke: $(READY)
	$(BIN)/python -m benchmarks --smoke

drill: $(READY)
	@$(BIN)/python -m drills $(addprefix --only ,$(ONLY)) $(addprefix --seed ,$(SEED)) $(addprefix --minutes ,$(MINUTES))

drill-small: $(READY)
	@$(BIN)/python -m drills --small

drill-replay: $(READY)
	@$(BIN)/python -m drills --replay $(ID)

docs: $(READY)
	@$(BIN)/python -m sphinx --builder html --fresh-env --fail-on-warning --keep-going --quiet --conf-dir docs/site . build/docs
	@echo "build/docs/index.html"

reference: $(READY)
	@$(BIN)/python docs/site/write_reference.py

links: $(READY)
	@$(BIN)/python -m sphinx --builder linkcheck --fresh-env --quiet --keep-going --conf-dir docs/site --tag with-readme . build/links

tutorial: $(READY)
	@$(BIN)/python tests/tutorial_notebook.py

stubs: $(READY)
	$(BIN)/python -m grpc_tools.protoc --proto_path=proto --python_out=proto --grpc_python_out=proto \
	    --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --mypy_out=quiet:proto \
	    --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc --mypy_grpc_out=quiet:proto \
	    proto/cuihop_api/v1/concept_graph.proto

vendor: $(READY)
	@$(BIN)/python -m cuihop_tools.vendoring $(ACCEPT)

containers: $(READY)
	@bash tests/containers/check.sh

# cyclonedx-bom 7.5.0 of 2026-09, in an environment of its own: no dependency of cuihop.
sbom:
	@mkdir -p build && $(PYTHON) -m venv build/sbom-tool && build/sbom-tool/bin/pip install --quiet cyclonedx-bom==7.5.0
	@$(DOCKER) run --rm --network none --entrypoint python $(IMAGE) -c 'from importlib.metadata import distributions; \
	    print(*sorted({f"{each.name}=={each.version}" for each in distributions()}), sep="\n")' > build/installed.txt
	@build/sbom-tool/bin/cyclonedx-py requirements build/installed.txt --output-file build/sbom.cdx.json
	@echo "build/sbom.cdx.json"

model-environment: $(MODELS)/.ready

# transformers 5, and beside it 4.49, that of the organisers' programs, for the packages that need it. AlignScore asks for
# NumPy 1 without needing it.
$(MODELS)/.ready: tests/adapters/model_packages.txt
	@echo "Setting up $(MODELS): some minutes and 6 GB"
	@$(PYTHON) -m venv --clear $(MODELS)
	@$(MODELS_INSTALL) --requirement tests/adapters/model_packages.txt
	@$(MODELS_INSTALL) --no-deps alignscore-speedofmagic==0.1.4
	@$(MODELS_INSTALL) --no-deps --target $(MODELS)/transformers-4 \
	    transformers==4.49.0 tokenizers==0.21.4 huggingface-hub==0.36.0
	@touch $@

request-environment: $(REQUESTS)/.ready
fuzzing-environment: $(FUZZING)/.ready
fhir-environment: $(FHIR)/.ready

$(REQUESTS)/.ready: drills/schemathesis.txt
$(FUZZING)/.ready: drills/atheris.txt
$(FHIR)/.ready: tests/service/http_api/fhir_packages.txt
$(REQUESTS)/.ready $(FUZZING)/.ready $(FHIR)/.ready:
	@$(PYTHON) -m venv --clear $(@D)
	@$(if $(UV),$(UV) pip install --python $(@D)/bin/python,$(@D)/bin/python -m pip install) --quiet --requirement $<
	@touch $@

neo4j: $(READY)
	@$(BIN)/python -m cuihop_tools.neo4j_server --home $(NEO4J_DATA) --port $(NEO4J_PORT) --http-port $(NEO4J_HTTP_PORT)

# The environment is made anew whenever what it is made from changes.
$(READY): pyproject.toml uv.lock
ifneq ($(UV),)
	@echo "Setting up .venv with uv (this takes a minute the first time)"
	@$(UV) sync --quiet --python $(PYTHON) --all-extras --all-groups --locked --compile-bytecode
else
	@echo "Setting up .venv with venv and pip (this takes some minutes the first time)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "cuihop needs Python 3.11 or later; found " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev --group bench --group docs
endif
	@touch $(READY)

clean:
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
