# The verbs of a checkout. Everything that a machine needs besides Go, gcc, git,
# make and apt is installed by `make deps`, or what only building needs by `make build-deps`.

# Nothing here reads DWARF, and compiling without it takes an eighth less processor time. Programs
# and tests are compiled alike, so that they share what is compiled. `make test` has go vet read
# everything; go test would read every dependency once more, for less. The tag is of Google's client
# for storage: without what only its gRPC needs, which is a hundred packages and 12 MB.
export GOFLAGS := -trimpath -gcflags=all=-dwarf=false -vet=off -tags=disable_grpc_modules
# Static: the bundle puts the same binary into an image from scratch.
export CGO_ENABLED := 0
BUNDLE ?= bundle
SLIPWAY := bin/slipway

.PHONY: up down vettool kind-test kind-deps build build-deps deps test e2e real machines given unpacked-k3s plugins-test guarded-programs guarded-machines short-life-test long-life-test magnumclient tackerclient ansible prometheus tosca adopt-originals adopt-operators magnum-databases chromium console-test console-machines upgrade-test disaster-test velero-test bundle verify proofs proofs-page versions-page guarded clients-test fuzz mutate reference faults gophercloud-acceptance opentofu-acceptance bench bench-images bench-fleet devcloud-up devcloud-down devcloud-test devcloud-contract devcloud-environment devcloud-objects devcloud-capo devcloud-devstack devcloud-gophercloud devcloud-machines devcloud-guests devcloud-horizon devcloud-tacker devcloud-moving bench-magnum vulncheck release reproducible reproduced platforms size pins clean monitoring-test ingress-test addons-test cilium-test calico-test conformance-test autoscaler-test

# Trying: an OpenStack in a box, and an environment on it

DEMO ?= demo
# What stands behind servers: container, or qemu for virtual machines, which need KVM
# to be fast enough for an environment.
DRIVER ?= container
# What the seed is: openstack, or kind for a container on this machine.
SEED ?= openstack

# An emulator is among what tests need.
up: $(if $(filter qemu,$(DRIVER)),deps,build-deps) build
	$(SLIPWAY) demo --yes --own --dir $(DEMO) --bundle $(BUNDLE) --driver $(DRIVER) --seed $(SEED)

down: build
	$(SLIPWAY) demo --down --yes --dir $(DEMO) --bundle $(BUNDLE)

# Building

# The compiler collects garbage less often, where there is memory not at all: up to a quarter less
# processor time. Tests run as usual; what they need is compiled by go vet.
COMPILING = $(shell awk -v n=$$(nproc) '/^MemAvailable/ {print ($$2 > n * 2500000 ? "GOGC=off GOMEMLIMIT=1500MiB" : "GOGC=400")}' /proc/meminfo 2>/dev/null)

build:
	$(COMPILING) go build -ldflags "-s -w" -o $(SLIPWAY) ./cmd/slipway

# go vet that does not read packages of other modules (test/vet); `make platforms` has all of it.
VET = go vet -vettool=$(abspath bin/vet)

vettool:
	go build -ldflags "-X main.original=$$(go tool -n vet)" -o bin/vet ./test/vet

# What is missing of the Debian packages in files is installed.
define install
	@missing=$$(for p in $$(cat $(1) | grep -v '^#'); do \
		dpkg-query -W -f '$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q '^ii' || echo $$p; done); \
	if [ -n "$$missing" ]; then apt-get update -q && apt-get install -q -y --no-install-recommends $$missing; fi
endef

# What building takes, and nothing else: what a demo needs.
build-deps:
	$(call install,internal/bundle/source/hostpackages.txt)

# Besides, what only tests run: clients, emulators, linters.
deps:
	$(call install,internal/bundle/source/hostpackages.txt test/e2e/packages.txt)

bundle: deps build
	$(SLIPWAY) bundle build --dir $(BUNDLE) $(BUNDLE_FLAGS)

# Checking

# Environments that come and go wait half of their time: more of them at once, and first, so that
# others compile meanwhile.
AT_ONCE := 4
WAITING = ./stacks

# BUT=real leaves out the packages that `make real` tests whole: CI links none of them twice.
test: vettool
	$(if $(filter-out real,$(BUT)),$(error BUT=$(BUT): only BUT=real is known))
	$(COMPILING) $(VET) ./...
	go test -parallel $(AT_ONCE) $(WAITING) $(if $(filter real,$(BUT)),$(filter-out $(patsubst ./%,$(MODULE)/%,$(filter-out $(PLUGINS),$(REAL))),$(shell go list ./...)),./...)
	cd release && $(COMPILING) $(VET) ./... && go test ./...

MODULE := github.com/slipway-sh/slipway

# Packages with tests that want more than Go: a bundle for a real API server, a real etcd or
# real machines, clients, programs of Debian. `make verify` finds tests that nothing here runs.
REAL = $(shell go run ./test/proofs -real)

# Those with machines, each alone: a test that copies mounts keeps their loop devices busy.
MACHINES = ./internal/sandbox/container

# A real S3 server, for states and backups.
S3_SERVER := github.com/versity/versitygw/cmd/versitygw@v1.8.0

# What those tests are given. A cloud of yours is not: they have a sandbox.
GIVEN = OS_CLOUD= SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) SLIPWAY_S3_SERVER=$(abspath bin/versitygw) SLIPWAY_PROMETHEUS=$(abspath bin/prometheus) \
	SLIPWAY_CLIENTS=1 SLIPWAY_TACKERCLIENT=$(abspath bin/tackerclient) SLIPWAY_K3S=$(abspath $(K3S)/data/current/bin/k3s)

e2e: real machines

# Those that take longest are begun first: none of them is alone at the end.
LONG = ./internal/check ./stacks/workload ./test/devcloud/capo ./internal/recovery/restore ./internal/cli ./addons/clusterctl/move ./stacks/engine ./internal/cli/serve

# Those that take long and rarely break: CI has their quick tests, and `make proofs` the others.
PLUGINS = ./internal/cli/devstack ./addons/tacker/lifecycle ./addons/tacker/vnflcm/lifecycle

# All in one go: each package is linked once, and while some wait others work. PACKAGES and RUN
# name some of them, and some of their tests: make real PACKAGES=./internal/helm RUN=^TestEnsure
PACKAGES :=
RUN :=

real: given
	$(GIVEN) go test -count=1 -p 4 -timeout 30m $(if $(RUN),-run '$(RUN)') $(or $(PACKAGES),$(LONG) $(filter-out $(LONG) $(MACHINES) $(PLUGINS),$(REAL)))

plugins-test: given tackerclient
	$(GIVEN) go test -count=1 -p 1 -timeout 40m $(PLUGINS)

# Tests on machines; SKIP names some that are left out.
SKIP ?=

machines: bundle
	$(GIVEN) go test -count=1 $(MACHINES)
	SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 80m $(if $(SKIP),-skip '$(SKIP)') -v ./test/e2e

# The short life of a management cluster alone; SHORT=-short leaves the total loss out.
SHORT ?=

short-life-test: bundle
	SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 80m $(SHORT) -run '^TestManagementCluster$$' -v ./test/e2e

given: bundle prometheus unpacked-k3s
	GOBIN=$(abspath bin) go install $(S3_SERVER)

# k3s unpacks itself, 230 MB, to where its data is. Tests start some sixty servers: once will do.
K3S = bin/k3s-data

unpacked-k3s: bundle
	rm -rf $(K3S)
	mkdir -p $(K3S)
	K3S_DATA_DIR=$(abspath $(K3S)) $(BUNDLE)/bin/k3s kubectl version --client

# Clients in Python that others come with: Debian's openstack client, also with a newer
# magnumclient, and Ansible with two versions of ansible-core.
CLIENTS = SLIPWAY_CLIENTS=1 SLIPWAY_MAGNUMCLIENT=$(abspath bin/magnumclient) SLIPWAY_ANSIBLE=$(abspath bin/ansible)

clients-test: magnumclient ansible
	$(CLIENTS) go test -count=1 -timeout 30m -run 'TestOpenStackClient|TestAnsible' \
		./addons/magnum/api ./test/ansible

# Clients that are not installed: a newer magnumclient, because that of the stable release
# cannot name a microversion, a newer ansible-core, so that the collection's tests run with two,
# and tackerclient. Only their modules and programs are taken.
APT_NEWEST = bin/apt-$(PACKAGE)
NEWEST = -o Dir::Etc::sourcelist=$(abspath $(APT_NEWEST))/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$(abspath $(APT_NEWEST))/lists \
	-o Dir::Cache=$(abspath $(APT_NEWEST))/cache -o APT::Sandbox::User=root -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false

magnumclient: bin/magnumclient/magnumclient
ansible: bin/ansible/ansible
tackerclient: bin/tackerclient/tackerclient

bin/magnumclient/magnumclient: PACKAGE = python3-magnumclient
bin/magnumclient/magnumclient: SUITE = sid
bin/ansible/ansible: PACKAGE = ansible-core
bin/ansible/ansible: SUITE = trixie
bin/tackerclient/tackerclient: PACKAGE = python3-tackerclient
bin/tackerclient/tackerclient: SUITE = bookworm

bin/magnumclient/magnumclient bin/ansible/ansible bin/tackerclient/tackerclient:
	rm -rf $(APT_NEWEST) $(@D)
	mkdir -p $(APT_NEWEST)/lists/partial $(APT_NEWEST)/cache/archives/partial $(@D)
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $(SUITE) main" > $(APT_NEWEST)/sources.list
	apt-get $(NEWEST) update -q
	cd $(APT_NEWEST) && apt-get $(NEWEST) download -q $(PACKAGE) && dpkg-deb -x $(PACKAGE)_*.deb x
	mv $(APT_NEWEST)/x/usr/lib/python3/dist-packages/* $(@D)/
	if [ -d $(APT_NEWEST)/x/usr/bin ]; then mv $(APT_NEWEST)/x/usr/bin $(@D)/bin; fi
	rm -r $(APT_NEWEST)

# Debian's promtool, by which alerts fire and end in a test. It needs libc alone.
prometheus: bin/prometheus/amtool

# Alertmanager reads files of its package below /usr/share: they go with it.
bin/prometheus/amtool:
	rm -rf $(@D)
	mkdir -p $(@D)
	cd $(@D) && { apt-get -o APT::Sandbox::User=root download -q prometheus prometheus-alertmanager || \
		{ apt-get update -q && apt-get -o APT::Sandbox::User=root download -q prometheus prometheus-alertmanager; }; }
	for deb in $(@D)/*.deb; do dpkg-deb -x $$deb $(@D)/x; done
	mkdir $(@D)/share
	mv $(@D)/x/usr/share/prometheus $(@D)/share
	mv $(@D)/x/usr/bin/promtool $(@D)/x/usr/bin/prometheus-alertmanager $(@D)
	rm $(@D)/*.deb
	mv $(@D)/x/usr/bin/amtool $@
	rm -r $(@D)/x

# Databases of Magnum, made by Magnum itself on MariaDB and PostgreSQL, are read. As root.
# SLIPWAY_UPDATE=1 writes the dumps and answers that other tests use anew.
MAGNUM_ROOT = bin/magnum-root

magnum-databases: $(MAGNUM_ROOT).made
	SLIPWAY_MAGNUM_ROOT=$(abspath $(MAGNUM_ROOT)) go test -count=1 -timeout 30m -v ./test/magnumdb

$(MAGNUM_ROOT).made:
	rm -rf $(MAGNUM_ROOT)
	mkdir -p bin
	mmdebstrap --mode=root --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' --include=python3-magnum,python3-pymysql,python3-psycopg2,mariadb-server,postgresql sid $(MAGNUM_ROOT) \
		"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main"
	touch $@

# The console in a browser: it follows events, and axe-core finds nothing to complain about.
# SLIPWAY_SHOTS=FOLDER keeps a picture of each page.
AXE := axe-core@4.14.1
AXE_SHA256 := e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745

console-test: chromium bin/axe/axe.min.js
	SLIPWAY_CHROMIUM=$$(command -v chromium) SLIPWAY_AXE=$(abspath bin/axe/axe.min.js) go test -count=1 -timeout 30m -v ./test/console

# The tenants' console in Chromium, for clusters on machines of the sandbox.
console-machines: bundle chromium
	SLIPWAY_CHROMIUM=$$(command -v chromium) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 60m -run TestATenantOnMachines -v ./test/e2e

chromium:
	@command -v chromium >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends chromium; }

bin/axe/axe.min.js:
	mkdir -p bin/axe
	cd bin/axe && npm pack --silent $(AXE) && echo "$(AXE_SHA256)  axe-core-4.14.1.tgz" | sha256sum -c - && tar xzf axe-core-4.14.1.tgz --strip-components=1 package/axe.min.js package/LICENSE && rm axe-core-4.14.1.tgz

# Releases of capi-helm-charts' own charts are adopted. CHARTS is a folder with one
# unpacked chart of openstack-cluster for each version, its dependency in it, which you give.
CHARTS ?= capi-helm-charts

adopt-originals: bundle
	SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) SLIPWAY_CAPI_HELM_CHARTS=$(abspath $(CHARTS)) go test -count=1 ./stacks/workload/adopt ./test/adopting

# The same for environments: OPERATORS is a folder with unpacked charts, in any number of
# versions, of cluster-api-addon-provider and cluster-api-janitor-openstack.
OPERATORS ?= azimuth-operators

adopt-operators: bundle
	SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) SLIPWAY_PROOFS=1 SLIPWAY_AZIMUTH_OPERATORS=$(abspath $(OPERATORS)) go test -count=1 -timeout 120m -run 'TestEnvironment|TestOriginalOperators' ./test/adopting

# OpenStack's tosca-parser reads packages for Tacker. TOSCAPARSER is a folder with its
# modules and what they need, SOL001 one with ETSI's definitions 2.6.1: Debian's package
# of the parser lacks its own definitions, and ETSI's are for you to get.
TOSCAPARSER ?= tosca-parser
SOL001 ?= sol001

tosca:
	SLIPWAY_TOSCAPARSER=$(abspath $(TOSCAPARSER)) SLIPWAY_SOL001=$(abspath $(SOL001)) go test -count=1 -run TestToscaParser -v ./addons/tacker/csar

# An environment and a tenant's cluster go from an older Slipway to this one, on
# machines. Kubernetes of a minor version before is compiled for it; the module
# proxy has parts of it only that the checksum database does not know.
OLDER ?= older

upgrade-test: bundle
	GONOSUMDB=k8s.io/* $(COMPILING) go run ./test/e2e/older -dir $(OLDER) -bundle $(BUNDLE)
	SLIPWAY_OLDER=$(abspath $(OLDER)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 60m -run TestUpgrade -v ./test/e2e

# Parts of an environment are lost one after the other, then all of one, and come back by
# slipway recover.
disaster-test: bundle
	SLIPWAY_PROOFS=1 SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 90m -run 'TestDisasters|TestTotalLoss' -v ./test/e2e

# Velero of a bundle of its own, on a real API server and a real S3 server, for four minutes.
# Nothing else may listen on port 8080: Velero does, and cannot be told otherwise.
VELERO ?= bin/velero

velero-test: bundle build
	GOBIN=$(abspath bin) go install $(S3_SERVER)
	$(SLIPWAY) bundle build --dir $(VELERO) --only velero,velero-plugin-for-aws,velero-crds
	SLIPWAY_VELERO=$(abspath $(VELERO)) SLIPWAY_S3_SERVER=$(abspath bin/versitygw) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 20m -v ./addons/velero

# Monitoring of a bundle of its own: its programs beside a real API server, for three minutes.
# As root, and nothing else may listen on ports 3100, 8888, 9090, 9093 and 13133.
MONITORING ?= bin/monitoring

monitoring-test: bundle build
	$(SLIPWAY) bundle build --dir $(MONITORING) --only prometheus,alertmanager,node-exporter,kube-state-metrics,loki,opentelemetry-collector
	SLIPWAY_MONITORING=$(abspath $(MONITORING)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 20m -run TestMonitoring -v ./addons/monitoring/stack
	$(SLIPWAY) bundle build --dir $(BUNDLE) --with monitoring
	SLIPWAY_MONITORING=1 SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 30m -run 'TestMonitoringOn(Machines|Seed)$$' -v ./test/e2e

# Cilium of a bundle of its own, as the pod network of a management cluster of the sandbox.
CILIUM ?= bin/cilium

cilium-test: bundle build
	$(SLIPWAY) bundle build --dir $(CILIUM) --only cilium,cilium-operator
	SLIPWAY_CILIUM=$(abspath $(CILIUM)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 60m -run TestCilium -v ./test/e2e

# Calico as the pod network of a management cluster of the sandbox. CALICO, CALICO_OPERATOR and
# CALICO_API are folders with the sources of a release of projectcalico/calico, of the
# tigera/operator that its chart names and of the tigera/api that this one's go.mod names, which
# you give: they are no modules.
CALICO ?= calico
CALICO_OPERATOR ?= calico-operator
CALICO_API ?= calico-api

calico-test: bundle bin/calico.tar
	go run ./test/e2e/calico -calico $(CALICO) -operator $(CALICO_OPERATOR) -api $(CALICO_API) -bundle $(BUNDLE) -dir bin/calico
	SLIPWAY_CALICO=$(abspath bin/calico) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 60m -run TestCalico -v ./test/e2e

# What its agent runs, beside upstream's scripts.
bin/calico.tar:
	mkdir -p bin
	mmdebstrap --mode=root --variant=minbase --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--include=runit,iptables,ipset,iproute2,nftables,conntrack,kmod,procps,ca-certificates $$(. /etc/os-release; echo $$VERSION_CODENAME) $@

# Traefik of a bundle of its own, on a management cluster of the sandbox.
INGRESS ?= bin/ingress

ingress-test: bundle build
	$(SLIPWAY) bundle build --dir $(INGRESS) --only traefik,gateway-api-crds
	SLIPWAY_INGRESS=$(abspath $(INGRESS)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -run TestGateway -v ./addons/openstackcluster
	SLIPWAY_INGRESS=$(abspath $(INGRESS)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 40m -run TestIngress -v ./test/e2e

# The optional addons of a tenant's cluster, one at a time: Flux and Traefik of bundles of their own.
FLUX ?= bin/flux

addons-test: bundle build
	$(SLIPWAY) bundle build --dir $(INGRESS) --only traefik,gateway-api-crds
	$(SLIPWAY) bundle build --dir $(FLUX) --only flux-source-controller,flux-kustomize-controller,flux-source-crds,flux-kustomize-crds
	SLIPWAY_FLUX=$(abspath $(FLUX)) go test -count=1 -run TestFlux -v ./addons/openstackcluster
	SLIPWAY_FLUX=$(abspath $(FLUX)) SLIPWAY_INGRESS=$(abspath $(INGRESS)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 60m -run TestAddons -v ./test/e2e

# Kubernetes' own tests, some of them, on a management cluster of the sandbox: with them the
# bundle compiles for some minutes more.
conformance-test: deps build
	$(SLIPWAY) bundle build --dir $(BUNDLE) --with conformance
	SLIPWAY_CONFORMANCE=1 SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 60m -run TestConformance -v ./test/e2e

# Kubernetes' cluster-autoscaler scales a tenant's group from nothing and back. AUTOSCALER is a
# folder with its sources, the directory cluster-autoscaler of kubernetes/autoscaler in the
# minor version of the bundle's Kubernetes, which you give: they are no module.
AUTOSCALER ?= cluster-autoscaler

autoscaler-test: bundle
	go build -C $(AUTOSCALER) -mod=mod -tags clusterapi -ldflags "-s -w" -o $(abspath bin/cluster-autoscaler) .
	SLIPWAY_AUTOSCALER=$(abspath bin/cluster-autoscaler) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 60m -run TestAutoscaling -v ./test/e2e

# An environment whose seed is a container of Podman. CI has no time for another one, and
# no room for a second set of images.
kind-deps:
	$(call install,test/e2e/kindpackages.txt)

kind-test: bundle kind-deps
	SLIPWAY_PROOFS=1 SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 20m -run TestARealLocalSeed -v ./internal/localseed
	SLIPWAY_PROOFS=1 SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 60m -run TestKind -v ./test/e2e

gophercloud-acceptance:
	go run ./test/acceptance gophercloud

# Also with the Magnum endpoint, whose clusters wait 20 s for each look of the provider.
opentofu-acceptance:
	go run ./test/acceptance opentofu
	SLIPWAY_OPENTOFU=$(abspath bin/opentofu) go test -count=1 -run TestOpenTofu -v ./addons/magnum/api

bench: bundle
	go run ./test/bench -slipway $(SLIPWAY) -bundle $(BUNDLE)

bench-images: build
	go run ./test/bench/images -slipway $(SLIPWAY)

bench-fleet: bundle
	SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -p 1 -timeout 90m -run 'TestCreations|TestControllers|TestFleet|TestIdle' -v ./test/bench/magnum ./test/bench/addonprovider

# A real OpenStack, to keep the sandbox and Slipway honest

DEVCLOUD ?= devcloud

devcloud-up: deps
	go run ./test/devcloud -dir $(DEVCLOUD) up

devcloud-down:
	go run ./test/devcloud -dir $(DEVCLOUD) down

# Slipway and the contract suite on it; the bundle is needed for the seed's image
# and an API server. The devcloud ends also when something fails.
devcloud-test: bundle build devcloud-up
	@status=0; $(MAKE) devcloud-contract devcloud-environment devcloud-objects devcloud-capo devcloud-devstack devcloud-gophercloud bench-magnum || status=$$?; \
	$(MAKE) devcloud-down && exit $$status

ON_DEVCLOUD = SLIPWAY_DEVCLOUD=$(abspath $(DEVCLOUD)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE))

devcloud-contract:
	OS_CLIENT_CONFIG_FILE=$(abspath $(DEVCLOUD))/clouds.yaml OS_CLOUD=devcloud go run ./test/contract/compare

devcloud-environment:
	$(ON_DEVCLOUD) go test -count=1 -timeout 40m -v ./test/devcloud/environment

# Backups and states in Swift, also by its API of S3.
devcloud-objects:
	$(ON_DEVCLOUD) go test -count=1 -timeout 10m -run OnADevcloud -v ./internal/backup/target ./stacks/engine

devcloud-capo:
	$(ON_DEVCLOUD) go test -count=1 -timeout 20m -v ./test/devcloud/capo

# The devstack plugin on a host of the devcloud, with a real k3s, Podman, systemd and iptables.
# Before what leaves things: it counts what is left.
devcloud-devstack: kind-deps
	$(ON_DEVCLOUD) go test -count=1 -timeout 60m -run "TestPhasesOnADevcloud|TestAKindClusterOnADevcloud|TestAClusterOfSomebodyElseBehindTLS" -v ./internal/cli/devstack

# The devcloud with machines: a seed with Cluster API in a guest of a real Nova.
# It is another folder, because it has other packages. Without KVM it wants two
# processors for itself.
DEVCLOUD_MACHINES ?= devcloud-machines

# An older Slipway brings the seed up, and this one upgrades it.
OLDER_SEED ?= older-seed

devcloud-machines: bundle build
	$(COMPILING) go run ./test/e2e/older -seed -dir $(OLDER_SEED) -bundle $(BUNDLE)
	go run ./test/devcloud -dir $(DEVCLOUD_MACHINES) -machines up
	@status=0; SLIPWAY_DEVCLOUD_MACHINES=$(abspath $(DEVCLOUD_MACHINES)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) SLIPWAY_OLDER=$(abspath $(OLDER_SEED)) \
		go test -count=1 -timeout 150m -run TestSeed -v ./test/devcloud/machines || status=$$?; \
	go run ./test/devcloud -dir $(DEVCLOUD_MACHINES) down && exit $$status

# A management cluster beside the seed: three guests, which two emulating processors hardly carry.
devcloud-guests: bundle build
	go run ./test/devcloud -dir $(DEVCLOUD_MACHINES) -machines up
	@status=0; SLIPWAY_DEVCLOUD_MACHINES=$(abspath $(DEVCLOUD_MACHINES)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) \
		go test -count=1 -timeout 200m -run TestManagementCluster -v ./test/devcloud/machines || status=$$?; \
	go run ./test/devcloud -dir $(DEVCLOUD_MACHINES) down && exit $$status

# Horizon's panels for Magnum on Slipway's endpoint, in Chromium. Another folder too: it has
# Horizon and Heat besides.
DEVCLOUD_HORIZON ?= devcloud-horizon

devcloud-horizon: bundle build chromium
	go run ./test/devcloud -dir $(DEVCLOUD_HORIZON) -horizon up
	@status=0; SLIPWAY_DEVCLOUD_HORIZON=$(abspath $(DEVCLOUD_HORIZON)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) SLIPWAY_CHROMIUM=$$(command -v chromium) \
		go test -count=1 -timeout 30m -v ./test/devcloud/horizon || status=$$?; \
	go run ./test/devcloud -dir $(DEVCLOUD_HORIZON) down && exit $$status

# The devstack plugin with OpenStack's own Tacker, of which Debian has no package. TACKER is a
# folder with it and what it needs besides Debian's packages; SOL001 as for tosca.
DEVCLOUD_TACKER ?= devcloud-tacker
TACKER ?= tacker

devcloud-tacker: bundle build kind-deps
	go run ./test/devcloud -dir $(DEVCLOUD_TACKER) -tacker $(TACKER) up
	@status=0; SLIPWAY_DEVCLOUD_TACKER=$(abspath $(DEVCLOUD_TACKER)) SLIPWAY_SOL001=$(abspath $(SOL001)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) \
		go test -count=1 -timeout 60m -run TestTackerOnADevcloud -v ./internal/cli/devstack || status=$$?; \
	go run ./test/devcloud -dir $(DEVCLOUD_TACKER) down && exit $$status

# Clusters of Debian's Magnum with magnum-capi-helm, moved to Slipway and back. Another folder
# too: it has that driver. CHART is an original of capi-helm-charts' openstack-cluster, unpacked
# with its dependency, which you may give.
DEVCLOUD_MOVING ?= devcloud-moving
CHART ?=

devcloud-moving: bundle build kind-deps
	go run ./test/acceptance -build opentofu
	go build -C test/devcloud/moving/guests -o $(abspath bin)/guests .
	go run ./test/devcloud -dir $(DEVCLOUD_MOVING) -clusters up
	@status=0; SLIPWAY_DEVCLOUD_MOVING=$(abspath $(DEVCLOUD_MOVING)) SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) SLIPWAY_CAPI_HELM_CHART=$(abspath $(CHART)) \
		SLIPWAY_OPENTOFU=$(abspath bin/opentofu) go test -count=1 -timeout 90m -v ./test/devcloud/moving || status=$$?; \
	go run ./test/devcloud -dir $(DEVCLOUD_MOVING) down && exit $$status

# After what counts what is left: these tests leave a network and flavors.
devcloud-gophercloud:
	OS_CLIENT_CONFIG_FILE=$(abspath $(DEVCLOUD))/clouds.yaml go run ./test/acceptance -cloud devcloud gophercloud

bench-magnum:
	$(ON_DEVCLOUD) go test -count=1 -timeout 40m -run 'TestBesideMagnum|TestRealKeystone' -v ./test/bench/magnum

# Proving: what CI has no time for, and which test proves what (docs/proofs.md)

# One after the other, also after a failure, with a table at the end. PROOFS=NAME,NAME
# chooses; `go run ./test/proofs -list` names all. Passes go into docs/proofs.json.
PROOFS ?=

proofs:
	@status=0; go run ./test/proofs -only "$(PROOFS)" || status=$$?; go run ./test/proofs -page && exit $$status

proofs-page:
	go run ./test/proofs -page

# Tests that take too long for CI ask for SLIPWAY_PROOFS=1. `make proofs` has each piece as a part.
GUARDED = $(shell go run ./test/proofs -packages SLIPWAY_PROOFS)

guarded: guarded-programs guarded-machines long-life-test disaster-test kind-test

guarded-programs: bundle
	SLIPWAY_PROOFS=1 SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -p 1 -timeout 120m -v \
		$(filter-out ./test/e2e ./internal/localseed,$(GUARDED))

guarded-machines: bundle
	SLIPWAY_PROOFS=1 SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 120m -v \
		-run 'TestAnsibleSite|TestChart$$|TestForeignSeed|TestNodeImageBoots|TestRecovery|TestScheduledBackup|TestTackerManagement|TestUp$$' ./test/e2e

long-life-test: bundle
	SLIPWAY_PROOFS=1 SLIPWAY_BUNDLE=$(abspath $(BUNDLE)) go test -count=1 -timeout 90m -run TestManagementClusterAtLength -v ./test/e2e

FUZZTIME ?= 1m

fuzz:
	go run ./test/proofs -fuzz $(FUZZTIME)

# How many changes of each package are tried, by chance; all, 0, take many hours.
MUTATIONS ?= 40

mutate:
	go run ./test/mutate -sample $(MUTATIONS)

verify: build vettool
	@test -z "$$(gofmt -l cmd internal addons images release stacks test)" || { echo "not gofmt'ed:"; gofmt -l cmd internal addons images release stacks test; exit 1; }
	go mod tidy -diff
	cd release && go mod tidy -diff
	cd test/devcloud/moving/guests && go mod tidy -diff && $(VET) ./...
	go test ./test/docs
	go test -run TestDocs ./internal/cli
	@dir=$$(mktemp -d) && $(SLIPWAY) reference $$dir && diff -r -x gophercloud.md -x opentofu.md -x causes.md -x versions.md $$dir docs/reference && rm -r $$dir \
		|| { echo "docs/reference is not what the commands say: run make reference"; exit 1; }
	go run ./test/proofs -check
	go run ./test/versions -check

# Known vulnerabilities in what is compiled. Its database is on the internet; a
# copy in a folder does too: VULNDB=file:///…
VULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.4.0
VULNDB ?= https://vuln.go.dev

vulncheck:
	GOBIN=$(abspath bin) go install $(VULNCHECK)
	@status=0; bin/govulncheck -db $(VULNDB) ./... || status=$$?; \
	case $$status in 0|3) ;; \
	*) echo "Nothing was checked. If the database $(VULNDB) cannot be reached, name a copy: make vulncheck VULNDB=file:///…";; esac; exit $$status

reference: build
	find docs/reference -type f ! -name gophercloud.md ! -name opentofu.md ! -name causes.md ! -name versions.md -delete && $(SLIPWAY) reference docs/reference

# What is supported with what, by the code's rules and the files of tests.
versions-page:
	go run ./test/versions

# Planted faults, and the page of what is said of each.
faults:
	go test -count=1 ./test/faults -update

# Releasing

# The files of a release, in the folder dist. SLIPWAY_RELEASE_KEY is the file or the
# text of a secret key of minisign, SLIPWAY_RELEASE_KEY_PASSWORD its password.
PLATFORMS ?= linux/amd64,linux/arm64,darwin/arm64
RELEASE = cd release && $(COMPILING) go run . -version "$(VERSION)" -platforms "$(PLATFORMS)" $(if $(UNSIGNED),-unsigned)

release:
	$(RELEASE) $(if $(DIRTY),-dirty)

# The release in two clones of this repository, which must be the same byte for byte.
reproducible:
	$(RELEASE) -twice

# The same without a key and for one platform, as `make proofs` and the night run it.
REPRODUCED ?= v0.0.0-proof

reproduced:
	$(MAKE) reproducible VERSION=$(REPRODUCED) UNSIGNED=1 PLATFORMS=linux/amd64

# The program for the platforms of a release that CI does not build for.
platforms:
	$(COMPILING) go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./cmd/slipway ./internal/cli/sandbox
	GOOS=linux GOARCH=arm64 go vet ./cmd/slipway

# Digests of what upstream publishes for the versions of the catalogue. It needs the
# internet; read the change before you commit it.
pins: build
	$(SLIPWAY) bundle pin --add --file internal/component/upstream.yaml

# What makes the program large: the modules in it, largest first.
size:
	go build -o bin/slipway-symbols ./cmd/slipway
	cd release && go run ./size ../bin/slipway-symbols

clean:
	rm -rf bin dist $(BUNDLE)
