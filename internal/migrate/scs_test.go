package migrate

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
)

const tfvars = `# comment
prefix            = "Capi_Prod"
cloud_provider    = "gx-scs"
external          = "ext01"
dns_nameservers   = ["5.1.66.255", "185.150.99.255"]
availability_zone = "nova"
kind_flavor       = "SCS-4V-16"
kind_mtu          = 1400
mgmt_cidr         = "10.0.0.0/24"
mgmt_ip_range     = { start : "10.0.0.11", end : "10.0.0.254" }
restrict_mgmt_server = ["192.0.2.0/24"]
image             = "Ubuntu 22.04"
kubernetes_version = "v1.28.x"
controller_count  = 3
worker_count      = "2"
worker_flavor     = "SCS-2V-4"
testcluster_name  = "shop"
deploy_harbor     = true
no_such           = 1
`

const clusterctl = `OPENSTACK_CLOUD: gx-scs2
CONTROL_PLANE_MACHINE_COUNT: 1
RESTRICT_KUBEAPI: [ "10.1.0.0/16", "10.2.0.0/16" ]
USE_CILIUM: "v1.15.1"
POD_CIDR: 192.168.0.0/16
OPENSTACK_SRVGRP_WORKER: nonono
OPENSTACK_CLOUD_YAML_B64: c2VjcmV0
`

func TestSCS(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"environment-prod.tfvars": tfvars, "clusterctl.yaml": clusterctl})
	files := []string{filepath.Join(dir, "environment-prod.tfvars"), filepath.Join(dir, "clusterctl.yaml")}
	r, err := SCS(files, "")
	if err != nil {
		t.Fatal(err)
	}
	e := load(t, r)
	s := e.Spec.Seed
	if e.Metadata.Name != "capi-prod" || e.Spec.Cloud != "gx-scs2" || e.Spec.ExternalNetwork != "ext01" || s.Flavor != "SCS-4V-16" || s.AvailabilityZone != "nova" || s.Network.MTU != 1400 ||
		len(s.Network.AllocationPools) != 1 || len(s.Network.DNSNameservers) != 2 || len(s.Access.SSHCIDRs) != 1 || e.Spec.ManagementCluster != nil {
		t.Errorf("%s", r.Files["slipway.yaml"])
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(r.Files["shop.yaml"]), &values); err != nil {
		t.Fatal(err)
	}
	text := r.Files["shop.yaml"]
	for _, want := range []string{"controlPlane:\n  machineCount: 1\n", "- machineCount: 2\n  machineFlavor: SCS-2V-4\n  name: workers\n", "type: cilium", "allowedCIDRs:\n  - 10.1.0.0/16\n  - 10.2.0.0/16\n", "cidrBlocks:\n    - 192.168.0.0/16"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	all := notes(r)
	for name, level := range map[string]Level{"kind_flavor": Changed, "image": Dropped, "kubernetes_version": Dropped, "deploy_harbor": Changed, "no_such": Dropped, "OPENSTACK_SRVGRP_WORKER": Dropped,
		"worker_count": Converted, "use_cilium": Changed, "prefix": Dropped, "testcluster_name": Converted} {
		if all[name].Level != level {
			t.Errorf("%s: %+v, want %s", name, all[name], level)
		}
	}
	if all["worker_count"].To != "shop.yaml: nodeGroups[0].machineCount" || all["controller_count"].Origin != files[1] {
		t.Errorf("%+v\n%+v", all["worker_count"], all["controller_count"])
	}
	for name, text := range r.Files {
		if strings.Contains(text, "c2VjcmV0") {
			t.Errorf("%s has the credential", name)
		}
	}
}

// TestSCSServices become addons; one that is another, or less, is told.
func TestSCSServices(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.yaml": "DEPLOY_METRICS: false\nDEPLOY_NGINX_INGRESS: v1.9.6\nNGINX_INGRESS_PROXY: true\nDEPLOY_GATEWAY_API: true\nDEPLOY_CERT_MANAGER: v1.14.2\nDEPLOY_FLUX: maybe\n", "b.tfvars": "deploy_flux = true\ndeploy_harbor = true\nharbor_config = { domain_name : \"registry.example.org\", persistence : true }\n",
		"c.yaml": "DEPLOY_HARBOR: true\nHARBOR_DOMAIN_NAME: \"\"\n"})
	r, err := SCS([]string{filepath.Join(dir, "a.yaml")}, "mine")
	if err != nil {
		t.Fatal(err)
	}
	text := r.Files["testcluster.yaml"]
	for _, want := range []string{"metricsServer:\n    enabled: false\n", "ingress:\n    enabled: true\n    gatewayAPI:\n      enabled: true\n    keepClientAddress: true\n", "certManager:\n    enabled: true\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for name, want := range map[string]Level{"deploy_metrics": Converted, "deploy_nginx_ingress": Changed, "nginx_ingress_proxy": Converted, "deploy_gateway_api": Changed, "deploy_cert_manager": Converted, "deploy_flux": Changed} {
		if got := notes(r)[name]; got.Level != want {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	if !strings.Contains(notes(r)["deploy_flux"].Text, "maybe is neither true nor false") || strings.Contains(text, "flux") {
		t.Errorf("%+v\n%s", notes(r)["deploy_flux"], text)
	}
	r, err = SCS([]string{filepath.Join(dir, "b.tfvars")}, "mine")
	if err != nil || !strings.Contains(r.Files["testcluster.yaml"], "flux:\n    enabled: true\n  harbor:\n    domainName: registry.example.org\n    enabled: true\n") {
		t.Errorf("%v\n%v", err, r)
	}
	r, err = SCS([]string{filepath.Join(dir, "c.yaml")}, "mine")
	if err != nil || !strings.Contains(r.Files["testcluster.yaml"], "harbor:\n    enabled: true\n") {
		t.Errorf("%v\n%v", err, r)
	}
}

// TestSCSCluster: a cluster may have the name that environment files have.
func TestSCSCluster(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"clusterctl.yaml": "WORKER_MACHINE_COUNT: 5\n"})
	r, err := SCSCluster(filepath.Join(dir, "clusterctl.yaml"), "slipway")
	if err != nil {
		t.Fatal(err)
	}
	if to := notes(r)["worker_count"].To; to != "slipway.yaml: nodeGroups[0].machineCount" || len(r.Files) != 2 {
		t.Errorf("to %q, files %v", to, r.Files)
	}
}

func TestSCSWithBadFiles(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.tfvars": "x = [", "b.yaml": "a: [1\n", "c.txt": "", "d.tfvars": "x = var.y\n", "e.yaml": "restrict_kubeapi: [none]\nkind_mtu: much\n"})
	_, err := SCS([]string{filepath.Join(dir, "a.tfvars"), filepath.Join(dir, "b.yaml"), filepath.Join(dir, "c.txt"), filepath.Join(dir, "d.tfvars"), filepath.Join(dir, "none.yaml")}, "")
	if all := fault.All(err); len(all) != 5 || fault.ExitCode(err) != fault.ExitUsage || errors.Is(err, nil) {
		t.Errorf("%d: %v", len(all), err)
	}
	r, err := SCS([]string{filepath.Join(dir, "e.yaml")}, "mine")
	if err != nil {
		t.Fatal(err)
	}
	if all := notes(r); r.Name != "mine" || !strings.Contains(all["restrict_kubeapi"].Text, "associateFloatingIP") || all["kind_mtu"].Level != Changed {
		t.Errorf("%+v", r.Notes)
	}
}

// TestAClusterWithoutWorkersHasNone: a group without a count has the chart's default.
func TestAClusterWithoutWorkersHasNone(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"a.tfvars": "worker_count = 0\n", "b.yaml": "WORKER_MACHINE_COUNT: \"0\"\n"} {
		dir := folder(t, map[string]string{name: content})
		r, err := SCS([]string{filepath.Join(dir, name)}, "mine")
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Files["testcluster.yaml"]; !strings.Contains(text, "- machineCount: 0\n  name: workers\n") || notes(r)["worker_count"].Level != Converted {
			t.Errorf("%s: %+v\n%s", name, r.Notes, text)
		}
	}
}
