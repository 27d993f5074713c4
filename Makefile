# Everything a contributor runs, and nothing that CI runs differently.
# Only Go is needed, except where a target says otherwise.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
TOOL     := $(GO) tool -modfile=internal/lab/tools/go.mod
FUZZTIME ?= 10s
KILLS    ?= 100
N        ?= 200
BENCH    ?= .
ROUNDS   ?= 5
RECORDS  ?= 1000000
SECTIONS ?=
FORM     ?= long
ONLY     ?=

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## generate the queue from its specification, kill it again and again, audit it
	$(GO) run ./cmd/fsmgen gen specs/lifecycle.yaml -o examples/queue/lifecycle --test-store sqlite,postgres
	@wc -l specs/lifecycle.yaml examples/queue/lifecycle/*
	$(GO) run ./examples/queue -demo
	@echo 'To see a queue in a browser: go run ./examples/queue -dir "$$(mktemp -d)" -console 127.0.0.1:8080'

.PHONY: generate
generate: ## write all generated code anew
	$(GO) generate ./...
	cd examples/downstream && $(GO) generate ./... && $(GO) tool fsmgen schema > fsmgen.schema.json

.PHONY: test
test: ## every deterministic test (vet is in make lint)
	$(GO) run ./internal/lab/pgtest/with $(GO) test -vet=off ./...
	cd internal/lab/schemacheck && $(GO) test -vet=off ./...
	cd runtime/fsmotel && $(GO) test -vet=off ./...
	cd runtime/etcdstore && $(GO) test -vet=off ./...
	cd runtime/storetest && $(GO) test -vet=off ./...
	cd cmd/fsmvet/vet/golangci && $(GO) test -vet=off ./...
	cd cmd/fsmctl && $(GO) run github.com/fsmgen/fsmgen/internal/lab/pgtest/with $(GO) test -vet=off ./...
	cd examples/downstream && $(GO) test ./...

# The random tests of make test draw the same cases each time, so that a change
# is judged by itself; this looks for new ones.
test race campaigns: export RAPID_SEED ?= 1

# A test process lives for seconds: it takes more memory for less work.
test campaigns: export GOGC ?= 400

# The packages with campaigns. Of their tests those run that are in a file which speaks of
# campaigns, or asks who runs it: make test has run the others, but not as the superuser.
CAMPAIGNS = ./gen/chart/draw ./internal/lab/brute ./internal/lab/claims ./internal/lab/cost ./internal/lab/faults ./internal/lab/fuzzmachines ./internal/lab/difftest ./internal/diff ./internal/migration ./internal/prove ./internal/model ./internal/validate ./spec ./gen ./runtime/postgres ./runtime/sqlite

.PHONY: campaigns
campaigns: ## the short forms of campaigns: faults, random machines, all generated packages (Linux; strace, PostgreSQL)
	FSMGEN_CAMPAIGNS=1 FSMGEN_REQUIRE_POSTGRES=1 FSMGEN_REQUIRE_STRACE=1 \
		$(GO) test -count=1 -timeout 60m \
		-run "^($$(grep -lE 'campaign|Geteuid' $(CAMPAIGNS:%=%/*_test.go) | xargs sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' | paste -sd'|'))$$" $(CAMPAIGNS)

.PHONY: cost-table
cost-table: ## processor time of check, gen, build and generated tests for machines of 10 to 2000 states; a quarter of an hour
	$(GO) run ./internal/lab/cost/table

.PHONY: portable
portable: ## type-check everything for Linux, macOS and Windows on amd64 and arm64
	$(GO) run ./internal/lab/portable . cmd/fsmctl runtime/etcdstore runtime/fsmotel runtime/storetest cmd/fsmvet/vet/golangci examples/downstream internal/lab/schemacheck internal/lab/bench internal/lab/tools/site

.PHONY: empty-machine
empty-machine: ## make demo and make test in fresh clones, nothing cached, with and without PostgreSQL, as root and not, in odd folders (ONLY=user,blank)
	.ci/empty-machine $(ONLY)

.PHONY: release-check
release-check: ## tag all modules in a clone, and use them from an empty module by their tags
	.ci/release-check

.PHONY: properties
properties: ## the tests with random cases, with new ones and 20 000 of each
	RAPID_CHECKS=$${RAPID_CHECKS:-20000} $(GO) test -count=1 -timeout 30m \
		$$(grep -rl --include='*_test.go' 'rapid\.Check(' . | xargs -n1 dirname | sort -u) \
		-run "^($$(grep -rh --include='*_test.go' -B20 'rapid\.Check(' . | sed -n 's/^func \(Test[A-Za-z0-9]*\).*/\1/p' | paste -sd'|'))$$"

.PHONY: e2e-short
e2e-short: ## the conformance suites over etcd and other SQLite drivers, and a short round of faults (needs a C compiler)
	cd internal/lab/e2e && $(GO) test -count=1 -timeout 20m ./...

.PHONY: e2e
e2e: ## use the page of fsmgen serve in Chromium (needs Node; installs Chromium when missing; ONLY=words of tests; pictures in internal/lab/browser/shots)
	internal/lab/browser/check.sh $(ONLY)

.PHONY: playground
playground: ## the playground, in internal/playground/page/public: the compiler as WebAssembly, for any file server (needs Node)
	internal/playground/page/build.sh

.PHONY: playground-check
playground-check: ## build the playground, compare its programs with the command, use the page in Chromium (needs Node; installs Chromium when missing)
	internal/playground/page/check.sh

.PHONY: site
site: ## the documents as pages with a search, in internal/lab/tools/site/public (needs Node)
	@internal/lab/tools/site/build.sh

.PHONY: site-check
site-check: ## build the site and read every page in Chromium: links, widths, axe-core, search (needs Node; installs Chromium when missing)
	internal/lab/tools/site/check.sh

.PHONY: race
race: ## every test under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race ./...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s) each
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file func; do \
		name=$${func#func }; dir=$$(dirname "$$file"); \
		echo "== $$dir $$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) "$$dir"; \
	done

.PHONY: fuzz-machines
fuzz-machines: ## generate N (200) random machines, run their tests over memory and SQLite, and print the smallest that fails
	FSMGEN_CAMPAIGNS=1 $(GO) test ./internal/lab/fuzzmachines -run '^TestRandomMachines$$' -count=1 -v -timeout 240m -args -machines $(N) -tested $(N)

.PHONY: crash
crash: ## kill the example with SIGKILL KILLS (100) times and audit what is left
	$(GO) test ./examples/queue -run '^TestCrash$$' -count=1 -v -timeout 30m -crash $(KILLS)

.PHONY: claims
claims: ## 1, 3 and 8 processes claim from one queue, in both databases, while KILLS (100) workers are killed in each run
	$(GO) test ./internal/lab/claims -count=1 -v -timeout 60m -args -jobs $$((20 * $(KILLS))) -kills $(KILLS)

.PHONY: faults
faults: ## break processes, disks, servers and connections; print the figures, in minutes with FORM=short (Linux, strace, PostgreSQL, C compiler)
	@case '$(FORM)' in long) long=1;; short) long=;; *) echo "FORM is '$(FORM)'; write long or short" >&2; exit 2;; esac; \
	table=$$(mktemp); trap 'rm -f "$$table"' EXIT; failed=; \
	export FSMGEN_CAMPAIGNS=1 FSMGEN_FAULTS_LONG=$$long FSMGEN_FAULTS_TABLE=$$table FSMGEN_REQUIRE_POSTGRES=1 FSMGEN_REQUIRE_STRACE=1; \
	$(GO) test ./internal/lab/faults -count=1 -v -timeout 120m || failed=1; \
	$(GO) test ./examples/webhook -run '^TestKills$$' -count=1 -v -timeout 60m || failed=1; \
	(cd internal/lab/e2e && $(GO) test ./mattn ./ncruces -p 1 -count=1 -v -timeout 60m) || failed=1; \
	(cd internal/lab/e2e && $(GO) test ./etcd -run '^Test(Faults|Linearizable)$$' -count=1 -v -timeout 120m) || failed=1; \
	$(GO) run ./internal/lab/faults/table $$table || failed=1; \
	(cd internal/lab/e2e && $(GO) test ./etcd -skip '^Test(Faults|Linearizable)$$' -count=1 -timeout 120m) || failed=1; \
	[[ -z $$failed ]] || { echo 'some of these tests have failed: see above' >&2; exit 1; }

.PHONY: migrations
migrations: ## N (1000) random evolutions of a machine among tables of users, in SQLite and half as many in PostgreSQL, kills, and writers of old versions beside; prints the figures
	FSMGEN_CAMPAIGNS=1 $(GO) test ./internal/migration -run '^(TestUsersData|TestPrintedScriptsRunInShells|TestOldProgramsGoOn|TestMigrateIsKilled|TestMigrateUnderFire)$$' -count=1 -v -timeout 60m -args -evolutions $(if $(filter-out 200,$(N)),$(N),1000) | grep -v ' seed '

.PHONY: mutation
mutation: ## change the generated code, the schemas and the engine in every way; the tests must notice (ONLY=name)
	$(GO) run ./internal/lab/mutate -only '$(ONLY)'

.PHONY: lint
lint: ## vet and the pinned linters, generated code included
	$(GO) vet ./...
	$(TOOL) golangci-lint run ./...
	$(TOOL) staticcheck ./...
	lint=$$($(TOOL) -n golangci-lint); check=$$($(TOOL) -n staticcheck); \
	for module in cmd/fsmctl runtime/etcdstore runtime/fsmotel runtime/storetest cmd/fsmvet/vet/golangci; do \
		(cd $$module && $(GO) vet ./... && $$lint run ./... && $$check ./...); \
	done

# The checksums are of the files themselves, so that it works in a tree with
# changes that are not committed yet, and without git.
.PHONY: verify
verify: ## regenerate; fail when a file changed
	@sums() { find . -type f -not -path './.git/*' -not -path './bin/*' -not -path '*/node_modules/*' -print0 | sort -z | xargs -0 sha256sum; }; \
	before=$$(mktemp); after=$$(mktemp); trap 'rm -f "$$before" "$$after"' EXIT; \
	sums > "$$before"; \
	$(MAKE) --no-print-directory generate; \
	sums > "$$after"; \
	if ! diff "$$before" "$$after"; then \
		echo "generated files were not up to date; commit what 'make generate' wrote" >&2; exit 1; \
	fi; \
	echo "generated files are up to date"

.PHONY: bench
bench: ## benchmarks (BENCH selects)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: bench-report
bench-report: ## measure every bar side by side (ROUNDS=5, RECORDS=1000000, FORM=short, SECTIONS=, SCRATCH=folder on another disk) and write BENCHMARKS.md; a quarter of an hour
	cd internal/lab/bench && $(GO) run . -rounds $(ROUNDS) -records $(RECORDS) -short=$(if $(filter short,$(FORM)),true,false) -only '$(SECTIONS)' -scratch '$(SCRATCH)' $(if $(SECTIONS),,-o ../../..)

.PHONY: bench-smoke
bench-smoke: ## the guard: fail when something allocates or a ratio is far from its bar
	cd internal/lab/bench && $(GO) test -count=1 ./... && $(GO) run . -smoke

.PHONY: cover
cover: ## coverage of all packages by all tests, in coverage.out
	$(GO) test -coverpkg=./... -coverprofile=coverage.out ./...
	$(GO) tool cover -func=coverage.out | tail -n 1

.PHONY: spin
spin: ## compare the model checker with Spin on execution (needs spin and gcc)
	FSMGEN_REQUIRE_SPIN=1 $(GO) test ./internal/lab/spin -count=1 -v

.PHONY: diagrams-check
diagrams-check: ## parse and draw every .mmd with the real Mermaid (needs Node; installs Chromium when missing)
	internal/lab/diagrams/check.sh

.PHONY: diagrams-judge
diagrams-judge: ## count crossings and overlaps of our pictures beside those of Graphviz and Mermaid (after diagrams-check; needs dot)
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; $(GO) build -o $$work/fsmgen ./cmd/fsmgen; \
	for f in specs/*.yaml examples/*/*.yaml; do $$work/fsmgen diagram -q "$$f" -o "$$work/$$(basename "$$f" .yaml).mmd"; done; \
	(cd internal/lab/diagrams && node geometry.mjs $$work/geometry.json $$(for f in $$work/*.mmd; do echo "$$(basename "$$f" .mmd)=$$f"; done)); \
	FSMGEN_MERMAID_GEOMETRY=$$work/geometry.json $(GO) test ./gen/chart/draw -run '^TestSideBySide$$' -count=1 -v

.PHONY: exports-check
exports-check: ## load the exported machines with XState, walk through every cell; complete keys as editors do (needs Node)
	internal/lab/exports/check.sh
	internal/lab/editors/check.sh

.PHONY: pictures-check
pictures-check: ## draw the texts for Graphviz with it (needs dot)
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; set -e; $(GO) build -o $$work/fsmgen ./cmd/fsmgen; \
	for f in specs/*.yaml examples/*/[!.]*.yaml; do $$work/fsmgen diagram -q "$$f" --detail full -o $$work/m.dot; \
		dot -Tsvg $$work/m.dot -o $$work/m.svg; rm $$work/m.dot; done
