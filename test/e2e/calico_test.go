package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// withCalico is a management cluster whose pod network is Calico's, without the programs that only
// show its flows: their pages are not in Go. The repository of charts is the test's.
const withCalico = `
    cni: calico
    values:
      addons:
        cni:
          calico:
            chart: {repo: "http://REPOSITORY"}
            release: {values: {goldmane: {enabled: false}, whisker: {enabled: false}}}
`

// exempt is a pod in the only namespace whose pods may reach the metadata service.
const exempt = `
apiVersion: v1
kind: Pod
metadata: {name: exempt, namespace: openstack-system}
spec:
  containers: [{name: whoami, image: "ghcr.io/slipway-sh/whoami:v1.0.0", securityContext: {runAsUser: 65532}}]
`

// TestCalico has a management cluster with Calico, of sources that you give, in the place of flannel.
// The nodes are ready; the pools are the cluster's; pods have the MTU of VXLAN in the machines'
// network; Services answer; NetworkPolicies have an effect; the metadata service is out of reach but
// for one namespace.
//
// proves: F96, S-39
func TestCalico(t *testing.T) {
	made := os.Getenv("SLIPWAY_CALICO")
	if made == "" {
		t.Skip("SLIPWAY_CALICO names no folder: run make calico-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tell()
	repository := p.serve(http.FileServer(http.Dir(filepath.Join(made, "charts"))), nil)
	p.append(smallManagementCluster + strings.TrimPrefix(strings.ReplaceAll(withCalico, "REPOSITORY", repository), "\n"))
	p.mirror("--dir", filepath.Join(made, "images"), "--dir", whoamiBundle(t))
	p.timed("up", func() { p.up() })
	p.expectCalico()
	p.startsPair()
	p.timed("Services", p.servicesAnswer)
	p.expectMTU()
	p.timed("NetworkPolicies", p.policiesHold)
	p.expectExemption()
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a further run changed %v", again.Report.Changes)
	}
	p.timed("down", func() { p.goDown() })
}

// expectCalico has the operator say that all is well, and wants the chart's version of the agents,
// the cluster's addresses and no flannel.
func (p *project) expectCalico() {
	p.t.Helper()
	p.eventually("Calico's status", 5*time.Minute, func() (string, bool) {
		status, err := p.on("", "get", "tigerastatus", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Available")].status} {end}`)
		return status, err == nil && strings.Contains(status, "calico=True") && strings.Contains(status, "apiserver=True") && !strings.Contains(status, "False")
	})
	charts := paths(p.t, filepath.Join(os.Getenv("SLIPWAY_CALICO"), "charts", "tigera-operator-*.tgz"))
	image, err := p.on("", "-n", "calico-system", "get", "daemonset", "calico-node", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	if _, version, _ := strings.Cut(image, ":"); err != nil || len(charts) != 1 || filepath.Base(charts[0]) != "tigera-operator-"+version+".tgz" {
		p.t.Errorf("agents: %s (%v), the charts are %v", image, err, charts)
	}
	pools, err := p.on("", "get", "ippools.projectcalico.org", "-o", "jsonpath={.items[*].spec.cidr} {.items[*].spec.vxlanMode}")
	if cidrs := p.podCIDRs(); err != nil || len(cidrs) != 1 || pools != cidrs[0]+" Always" {
		p.t.Errorf("pools: %s (%v), the cluster's pods have %v", pools, err, cidrs)
	}
	if out, err := p.on("", "get", "daemonsets", "-A", "-o", "name"); err != nil || strings.Contains(out, "flannel") {
		p.t.Errorf("DaemonSets: %s (%v)", out, err)
	}
}

// podCIDRs are the addresses that Cluster API gives to pods.
func (p *project) podCIDRs() []string {
	p.t.Helper()
	out, err := p.by("seed.kubeconfig", "", "get", "clusters.cluster.x-k8s.io", "-A", "-o", "jsonpath={.items[0].spec.clusterNetwork.pods.cidrBlocks[*]}")
	if err != nil {
		p.t.Fatalf("clusters: %s (%v)", out, err)
	}
	return strings.Fields(out)
}

// expectExemption has a pod of that namespace ask the metadata service.
func (p *project) expectExemption() {
	p.t.Helper()
	p.applies(exempt)
	p.eventually("the metadata service, for who may ask it", 2*time.Minute, func() (string, bool) {
		told, err := p.on("", "get", "--raw", "/api/v1/namespaces/openstack-system/pods/exempt:8080/proxy/metadata")
		return told, err == nil && told == "200 OK"
	})
}
