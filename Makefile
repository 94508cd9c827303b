# The verbs of a checkout. Everything that a machine needs besides Go, gcc, git,
# make and apt is installed by `make deps`.

export GOFLAGS := -trimpath
BUNDLE ?= bundle
SLIPWAY := bin/slipway

.PHONY: up down build deps test e2e bundle verify reference gophercloud-acceptance bench clean

# Trying: an OpenStack in a box, and an environment on it

DEMO ?= demo
SANDBOX := $(abspath $(DEMO))/cloud

up: deps build
	$(SLIPWAY) bundle ensure --dir $(BUNDLE)
	mkdir -p $(DEMO)
	$(SLIPWAY) sandbox start --dir $(SANDBOX) --bundle $(BUNDLE) --factor 0
	cd $(DEMO) && ln -sfn $(SANDBOX)/clouds.yaml clouds.yaml && ln -sfn $(abspath $(BUNDLE)) bundle && \
		{ test -e slipway.yaml || $(abspath $(SLIPWAY)) init --cloud sandbox --name demo; } && \
		$(abspath $(SLIPWAY)) up --yes && $(abspath $(SLIPWAY)) status
	@echo; echo "Go on in the folder $(DEMO):  cd $(DEMO); ../bin/slipway ssh -- kubectl get pods -A"
	@echo "End all of it:  make down"

down: build
	$(SLIPWAY) sandbox reset --dir $(SANDBOX)
	rm -rf $(DEMO)

# Building

build:
	go build -ldflags "-s -w" -o $(SLIPWAY) ./cmd/slipway

deps:
	@missing=$$(for p in $$(cat internal/bundle/source/hostpackages.txt test/e2e/packages.txt | grep -v '^#'); do \
		dpkg-query -W -f '$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q '^ii' || echo $$p; done); \
	if [ -n "$$missing" ]; then apt-get update -q && apt-get install -q -y --no-install-recommends $$missing; fi

bundle: deps build
	$(SLIPWAY) bundle build --dir $(BUNDLE)

# Checking

test:
	go vet ./...
	go test ./...

e2e: bundle
	SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 30m -v ./test/e2e/...

gophercloud-acceptance:
	go run ./test/acceptance/gophercloud

bench: build
	go run ./test/bench -slipway $(SLIPWAY)

verify: build
	@test -z "$$(gofmt -l cmd internal addons test)" || { echo "not gofmt'ed:"; gofmt -l cmd internal addons test; exit 1; }
	go mod tidy -diff
	@dir=$$(mktemp -d) && $(SLIPWAY) reference $$dir && diff -r -x gophercloud.md $$dir docs/reference && rm -r $$dir \
		|| { echo "docs/reference is not what the commands say: run make reference"; exit 1; }

reference: build
	find docs/reference -type f ! -name gophercloud.md -delete && $(SLIPWAY) reference docs/reference

clean:
	rm -rf bin $(BUNDLE)
