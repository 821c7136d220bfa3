# SPDX-License-Identifier: Apache-2.0
# The front door. The build itself is CMakeLists.txt with CMakePresets.json.

PREFIX ?= /usr/local
DESTDIR ?=
# demo: a checkpoint of your own, FILE or DIR.
MODEL ?=
export MODEL

# The build that users get: warnings are no errors, tests are off.
BUILD = build/front

.PHONY: help demo test test-long lint bench install release

help:
	@echo 'make demo [MODEL=FILE]            a checkpoint inspected, planned, loaded as fp8, converted'
	@echo 'make test                         every suite; CI=1 or PARITY=1 compares with torch too'
	@echo 'make test-long                    the exhaustive ones as well'
	@echo 'make lint                         formatting, analysers, rules of the house'
	@echo 'make bench                        the figures, measured here'
	@echo 'make install [PREFIX=] [DESTDIR=] library, command, man pages, completions'

demo: release
	@examples/demo/run.sh $(BUILD)

test:
	@scripts/setup.sh test
	@python3 scripts/test.py

test-long:
	@scripts/setup.sh test
	@python3 scripts/test.py --long

lint:
	@scripts/setup.sh test
	@python3 scripts/test.py --only lint

bench: release
	@scripts/setup.sh bench
	@python3 bench/run.py

install: release
	DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(PREFIX)'
	@if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

release:
	@scripts/setup.sh build
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DNETWEIGHT_TESTS=OFF \
	    -DCMAKE_INSTALL_PREFIX='$(PREFIX)' -Wno-dev > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@cmake --build $(BUILD)
