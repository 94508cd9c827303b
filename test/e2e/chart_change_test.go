package e2e

import (
	"fmt"
	"strings"
	"time"
)

// privileged is a pod that the baseline of PodSecurity refuses.
const privileged = `
apiVersion: v1
kind: Pod
metadata: {name: privileged, namespace: default}
spec:
  containers:
    - {name: pause, image: registry.k8s.io/pause:3.10.1, securityContext: {privileged: true}}
`

// pull runs a pod of an image on a node, which has to pull it, and returns how
// that ended: without Secrets, past the scheduler.
func (r *release) pull(node, image string) (string, bool) {
	r.t.Helper()
	pod := fmt.Sprintf("pull-%d", time.Now().UnixNano())
	r.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  nodeName: %s
  automountServiceAccountToken: false
  tolerations: [{operator: Exists}]
  containers: [{name: pause, image: %q, imagePullPolicy: Always}]
`, pod, node, image))
	said := ""
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		out, err := r.try("", "get", "pod", pod, "-o", "jsonpath={.status.phase} {.status.containerStatuses[0].state.waiting}")
		if said = out; err == nil && strings.HasPrefix(out, "Running") {
			return said, true
		}
		if strings.Contains(out, "ErrImagePull") || strings.Contains(out, "ImagePullBackOff") {
			break
		}
	}
	return said, false
}

// expectPulls pulls on every node: from the mirror what it has, from upstream
// what only that has, and what is private with the node's credential.
func (f *full) expectPulls() {
	f.t.Helper()
	for node := range f.nodes("kubernetes.io/hostname") {
		if said, ok := f.pull(node, "proof.test/both/pause:1"); !ok || !f.mirror.wasAsked("both/pause") || f.upstream.wasAsked("both/pause") {
			f.t.Errorf("node %s pulls what the mirror has: %s; mirror asked %t, upstream %t", node, said, f.mirror.wasAsked("both/pause"), f.upstream.wasAsked("both/pause"))
		}
		if said, ok := f.pull(node, "proof.test/upstream/pause:1"); !ok || !f.mirror.wasAsked("upstream/pause") || !f.upstream.wasAsked("upstream/pause") {
			f.t.Errorf("node %s pulls what only upstream has: %s; mirror asked %t, upstream %t", node, said, f.mirror.wasAsked("upstream/pause"), f.upstream.wasAsked("upstream/pause"))
		}
		f.expectSecret(node)
	}
}

// expectSecret pulls the private image, whose registry has a certificate of the
// test's authority.
func (f *full) expectSecret(node string) {
	f.t.Helper()
	if said, ok := f.pull(node, f.private.address+"/secret/pause:1"); !ok {
		f.t.Errorf("node %s pulls a private image: %s", node, said)
	}
}

// change changes the admission configuration and the registry's password: every
// node is replaced by one that knows both, and what was written before is read.
func (f *full) change() {
	f.t.Helper()
	before := f.nodes("kubernetes.io/hostname")
	f.private.change("second")
	for node := range before { // else the rest would prove nothing
		if said, ok := f.pull(node, f.private.address+"/secret/pause:1"); ok {
			f.t.Errorf("node %s pulls with the former password: %s", node, said)
		}
		break
	}
	f.upgrade(fmt.Sprintf(`
apiServer: {admissionConfiguration: {PodSecurity: {defaults: {enforce: privileged}}}}
registryAuth: {"%s": {password: second}}
`, f.private.address))
	f.eventually("other nodes", 15*time.Minute, func() (string, bool) {
		out, err := f.try("", "get", "nodes", "--no-headers", "--request-timeout=10s")
		for node := range before {
			if strings.Contains(out, node) {
				return out, false
			}
		}
		return out, err == nil && strings.Count(out, " Ready ") == len(before)
	})
	f.ready(10 * time.Minute)
	f.apply(privileged)
	for node := range f.nodes("kubernetes.io/hostname") {
		f.expectSecret(node)
	}
	if got := f.kubectl("get", "secret", "proof", "-o", "jsonpath={.data.word}"); got == "" {
		f.t.Error("the new control plane does not read the Secret")
	}
}

// expectRanges shuts out this host, and lets it in again, while Cluster API on
// the seed goes on.
func (f *full) expectRanges() {
	f.t.Helper()
	reached := func() (string, bool) {
		out, err := f.try("", "get", "--raw", "/readyz", "--request-timeout=5s")
		return out, err == nil
	}
	servers := len(f.machines())
	f.upgrade(fmt.Sprintf("apiServer: {allowedCIDRs: [%s/32]}\n", f.seed))
	f.eventually("a refusal", 3*time.Minute, func() (string, bool) {
		out, ok := reached()
		return out, !ok
	})
	f.upgrade("nodeGroups: [{name: md-0, machineCount: 0, machineFlavor: m1.medium}]\n")
	f.eventually("no worker", 5*time.Minute, func() (string, bool) {
		now := f.machines()
		return strings.Join(now, " "), len(now) == servers-1
	})
	f.upgrade(fmt.Sprintf("apiServer: {allowedCIDRs: [%s/32, %s/32]}\n", f.seed, f.mirror.host()))
	f.eventually("an answer", 3*time.Minute, reached)
}
