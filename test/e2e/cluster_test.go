package e2e

import (
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
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
			"--set", "controlPlane.machineCount=1", "--set", "nodeGroups[0].name=md-0,nodeGroups[0].machineCount=0",
			"--set", "addons.objectStores.registry.namespace=harbor")
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
	p.timed("an object store of it", p.expectObjectStore)
	site.keepCluster("lab", "controlPlane: {machineCount: 1}\nnodeGroups: [{name: md-0, machineCount: 0}]\naddons: {objectStores: {registry: {namespace: harbor}}}\n")
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
	if pairs, left := p.openstack("ec2", "credentials", "list", "-f", "value", "-c", "Access"), p.containers(); pairs != "" || strings.Contains(left, "lab") {
		p.t.Errorf("left of its object store are EC2 credentials %q, containers %q", pairs, left)
	}
}

func (p *project) containers() string {
	p.t.Helper()
	return p.openstack("container", "list", "-f", "value", "-c", "Name")
}

// expectObjectStore wants a container and an EC2 credential of the cluster, whose keys are on it.
//
// proves: S-48
func (p *project) expectObjectStore() {
	p.t.Helper()
	if all := strings.Fields(p.containers()); !slices.Contains(all, "demo-lab-registry") {
		p.t.Errorf("containers %q", all)
	}
	var secret string
	p.eventually("the keys of the object store on the cluster", 3*time.Minute, func() (string, bool) {
		out, err := p.by(filepath.Join("clusters", "lab.kubeconfig"), "", "get", "secret", "object-store-registry", "--namespace", "harbor", "-o", "jsonpath={.data.AWS_ACCESS_KEY_ID} {.data.AWS_SECRET_ACCESS_KEY} {.data.BUCKET_NAME}")
		secret = out
		return out, err == nil
	})
	var keys []string
	for _, field := range strings.Fields(secret) {
		text, err := base64.StdEncoding.DecodeString(field)
		if err != nil {
			p.t.Fatal(err)
		}
		keys = append(keys, string(text))
	}
	listed := strings.Fields(p.openstack("ec2", "credentials", "list", "-f", "value", "-c", "Access", "-c", "Secret"))
	if len(keys) != 3 || !slices.Equal(keys[:2], listed) || keys[2] != "demo-lab-registry" {
		p.t.Errorf("on the cluster are %d keys, of bucket %q; in Keystone are %d", len(keys), keys[len(keys)-1], len(listed))
	}
}

// credentialIDs are the project's application credentials.
func (p *project) credentialIDs() []string {
	p.t.Helper()
	all := strings.Fields(p.openstack("application", "credential", "list", "-f", "value", "-c", "ID"))
	slices.Sort(all)
	return all
}
