package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// operateCluster is the life of a cluster that the operator makes without the
// Magnum API: waited for until its control plane is ready, reached by the file
// that is printed, made once, also by Ansible, and deleted with all that is its own.
func (p *project) operateCluster(site *controlNode) {
	p.t.Helper()
	servers, credentials := p.servers(), p.credentialIDs()
	create := func() (made struct{ Namespace, Change, Kubeconfig string }) {
		p.t.Helper()
		out := p.do("cluster", "create", "lab", "--wait", "control-plane", "-o", "json",
			"--set", "controlPlane.machineCount=1", "--set", "nodeGroups[0].name=md-0,nodeGroups[0].machineCount=0")
		if err := json.Unmarshal([]byte(out), &made); err != nil {
			p.t.Fatal(err)
		}
		return made
	}
	made := create()
	if made.Change != "created" || made.Namespace != "lab" || made.Kubeconfig != filepath.Join(p.folder, ".slipway", "clusters", "lab.kubeconfig") {
		p.t.Errorf("made %+v", made)
	}
	if out, err := p.by(filepath.Join("clusters", "lab.kubeconfig"), "", "get", "nodes", "--no-headers"); err != nil || strings.Count(out, "control-plane") < 1 {
		p.t.Errorf("nodes of the cluster: %v\n%s", err, out)
	}
	if again := create(); again.Change != "no changes" {
		p.t.Errorf("made again: %+v", again)
	}
	site.keepCluster("lab", "controlPlane: {machineCount: 1}\nnodeGroups: [{name: md-0, machineCount: 0}]\n")
	p.timed("another credential of it", func() { p.rotateLab(credentials) })
	if list := p.do("cluster", "list"); !strings.Contains(list, "lab") || !strings.Contains(list, "1/1") {
		p.t.Errorf("listed as\n%s", list)
	}
	p.do("cluster", "delete", "lab", "--yes")
	if out, err := p.on("", "get", "namespace", "lab"); err == nil || !strings.Contains(out, "not found") {
		p.t.Errorf("after the deletion: %v\n%s", err, out)
	}
	if after := p.servers(); len(after) != len(servers) {
		p.t.Errorf("servers were %v, are %v", servers, after)
	}
	if after := p.credentialIDs(); !slices.Equal(after, credentials) {
		p.t.Errorf("application credentials were %q, are %q", credentials, after)
	}
}

// credentialIDs are the project's application credentials.
func (p *project) credentialIDs() []string {
	p.t.Helper()
	all := strings.Fields(p.openstack("application", "credential", "list", "-f", "value", "-c", "ID"))
	slices.Sort(all)
	return all
}
