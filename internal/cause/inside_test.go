package cause

import (
	"strings"
	"testing"
	"time"
)

// connected is a cluster whose API Cluster API reaches, with a worker that is a node.
const connected = `kind: Cluster
metadata: {name: c, namespace: prod}
status: {conditions: [{type: RemoteConnectionProbe, status: "True"}, {type: ControlPlaneInitialized, status: "True"}]}
---
kind: Machine
metadata: {name: w, namespace: prod}
status: {nodeRef: {name: w}, conditions: [{type: Ready, status: "True"}]}
`

// TestTheClusterIsJudged: what is as it should be, or not for long enough, or only so from
// here, is no cause.
func TestTheClusterIsJudged(t *testing.T) {
	t.Parallel()
	pod := func(p Pod) *Inside {
		p.Namespace, p.Name, p.Owner = "kube-system", "p-1", Ref{Kind: "Deployment", Name: "p"}
		if p.Created.IsZero() {
			p.Created = now.Add(-time.Hour)
		}
		return &Inside{Pods: []Pod{p}}
	}
	hook := func(h Hook) *Inside {
		h.Name, h.Service = "h", "a/b"
		return &Inside{Hooks: []Hook{h}}
	}
	node := func(n Node) *Inside {
		n.Name = "w"
		return &Inside{At: now, Version: "v1.34.4", Nodes: []Node{n}, Leaders: []Lease{{Name: "l", Renewed: now}}}
	}
	ready := []NodeCondition{{Type: "Ready", Status: "True"}}
	old, just := now.Add(-time.Hour), now.Add(-10*time.Second)
	bare := func(since time.Time) *Inside {
		return node(Node{Conditions: []NodeCondition{{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: "NetworkPluginNotReady", Since: since}}, Renewed: now})
	}
	mount := func(created time.Time) *Inside {
		of := pod(Pod{Created: created})
		of.Warnings = []Warning{{Namespace: "kube-system", About: of.Pods[0].ref(), Reason: "FailedMount", Message: `secret "tls" not found`, Last: just}}
		return of
	}
	unserved := func(workload string) *Inside { // a pod that crashes on a node whose kubelet serves nothing
		i := pod(Pod{Node: "w", Containers: []Container{{Name: "x", Reason: "CrashLoopBackOff", Restarts: 9}}})
		i.Pods[0].Owner.Name, i.Uncertified = workload, []CertificateRequest{{Name: "r", Node: "w", Created: old}}
		return i
	}
	for name, test := range map[string]struct {
		inside *Inside
		want   string
	}{
		"only this machine does not reach it":      {&Inside{Unreachable: &Unreachable{Way: WayNoAnswer}}, ""},
		"only this machine is refused":             {&Inside{Unreachable: &Unreachable{Way: WayRefused}}, ""},
		"nobody is to accept an old certificate":   {&Inside{Unreachable: &Unreachable{Way: WayExpired}}, "certificate-expired Cluster c"},
		"a pod that was just made":                 {pod(Pod{Waits: "1 Insufficient cpu", Created: now.Add(-time.Minute)}), ""},
		"a pod that waits for nodes to be ready":   {pod(Pod{Waits: "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }"}), ""},
		"a pod that waits for room":                {pod(Pod{Waits: "0/1 nodes are available: 1 Insufficient cpu"}), "pod-unschedulable Deployment kube-system/p"},
		"a container that is being created":        {pod(Pod{Containers: []Container{{Name: "x", Reason: "ContainerCreating"}}}), ""},
		"an image that is not there":               {pod(Pod{Containers: []Container{{Name: "x", Image: "a/b:1", Reason: "ErrImagePull", Message: "not found"}}}), "image-pull container image a/b:1"},
		"a registry of Docker that is not there":   {pod(Pod{Containers: []Container{{Name: "x", Image: "a/b:1", Reason: "ErrImagePull", Message: "dial tcp 1.2.3.4:443: i/o timeout"}}}), "registry-unreachable registry docker.io"},
		"a node that has just joined":              {bare(just), ""},
		"a node without network plugin":            {bare(old), "cni-not-ready Node w"},
		"a Secret that is just being made":         {mount(just), ""},
		"a Secret that is not there":               {mount(old), "pod-not-started Deployment kube-system/p"},
		"a webhook that is not required":           {hook(Hook{Created: old}), ""},
		"a webhook that was just made":             {hook(Hook{Required: true, Created: now.Add(-time.Minute)}), ""},
		"a webhook with a pod":                     {hook(Hook{Required: true, Ready: 1, Created: old}), ""},
		"a webhook without one":                    {hook(Hook{Required: true, Created: old}), "cluster-webhook-down webhook h"},
		"a clock that is a little ahead":           {node(Node{Conditions: ready, Renewed: now.Add(20 * time.Second)}), ""},
		"a clock that is much ahead":               {node(Node{Conditions: ready, Renewed: now.Add(40 * time.Second)}), "clock-skew Node w"},
		"a clock that is behind":                   {node(Node{Conditions: ready, Renewed: old}), "clock-skew Node w"},
		"a kubelet that is not there":              {node(Node{Conditions: []NodeCondition{{Type: "Ready", Status: "Unknown", Message: "Kubelet stopped posting node status."}}, Renewed: old}), "node-silent Node w"},
		"a kubelet of the API server's version":    {node(Node{Conditions: ready, Version: "v1.34.0"}), ""},
		"the oldest kubelet":                       {node(Node{Conditions: ready, Version: "v1.31.0"}), ""},
		"a kubelet that is older":                  {node(Node{Conditions: ready, Version: "v1.30.9"}), "version-skew Node w"},
		"a kubelet that is newer":                  {node(Node{Conditions: ready, Version: "v1.35.0"}), "version-skew Node w"},
		"a condition that need not be there":       {node(Node{Conditions: append(ready, NodeCondition{Type: "DiskPressure", Status: "False"})}), ""},
		"a kubelet that has just asked":            {&Inside{Uncertified: []CertificateRequest{{Name: "r", Node: "w", Created: now.Add(-time.Minute)}}}, ""},
		"a kubelet that waits":                     {&Inside{Uncertified: []CertificateRequest{{Name: "r", Node: "w", Created: old}}}, "kubelet-certificate Node w"},
		"a kubelet that was refused":               {&Inside{Uncertified: []CertificateRequest{{Name: "r", Node: "w", Created: now, Decision: "Denied"}}}, "kubelet-certificate Node w"},
		"a kubelet that waits, and metrics-server": {unserved("metrics-server"), "kubelet-certificate Node w"},
		"a kubelet that waits, and another pod":    {unserved("coredns"), "pod-crash Deployment kube-system/coredns; kubelet-certificate Node w"},
		"a volume that is attached":                {&Inside{Attachments: []Attachment{{Node: "w", Volume: "v"}}}, ""},
		"a warning of an hour ago":                 {&Inside{Warnings: []Warning{{Reason: "FailedScheduling", Message: "exceed max volume count", Last: old}}}, ""},
		"leaders that renew while kubelets do not": {&Inside{At: now, Leaders: []Lease{{Renewed: now}}, Nodes: []Node{{Name: "w", Conditions: []NodeCondition{{Type: "Ready", Status: "Unknown", Message: "Kubelet stopped posting node status."}}, Renewed: old}}}, "node-silent Node w"},
	} {
		if a := Explain(Snapshot{Objects: read(t, connected), Cloud: &Cloud{}, Inside: test.inside, Now: now}); reasons(a) != test.want {
			t.Errorf("%s: %q instead of %q", name, reasons(a), test.want)
		}
	}
}

// TestAControlPlaneThatIsReplacedIsNotSkewed: its new nodes are newer than the API server that
// happens to answer. A worker must not be.
func TestAControlPlaneThatIsReplacedIsNotSkewed(t *testing.T) {
	t.Parallel()
	const plane = "kind: Cluster\nmetadata: {name: c}\nstatus: {controlPlane: {replicas: 1}}\n---\nkind: KubeadmControlPlane\nmetadata: {name: c}\nspec: {version: v1.35.0}\n---\n" +
		"kind: Machine\nmetadata: {name: m, labels: {LABEL: \"\"}}\nstatus: {nodeRef: {name: w}}\n"
	for label, want := range map[string]bool{"cluster.x-k8s.io/control-plane": false, "worker": true} {
		inside := &Inside{At: now, Version: "v1.34.0", Nodes: []Node{{Name: "w", Version: "v1.35.0", Conditions: []NodeCondition{{Type: "Ready", Status: "True"}}, Renewed: now}}}
		a := Explain(Snapshot{Objects: read(t, strings.ReplaceAll(plane, "LABEL", label)), Cloud: &Cloud{}, Inside: inside, Now: now})
		if got := strings.Contains(reasons(a), "version-skew Node w"); got != want {
			t.Errorf("%s: %q", label, reasons(a))
		}
	}
}

// TestWhatIsDarkIsTold: an API that does not answer, and lists that could not be read.
func TestWhatIsDarkIsTold(t *testing.T) {
	t.Parallel()
	for want, inside := range map[string]*Inside{
		"inside the cluster: its API at a:1, asked from the seed: no route": {Address: "a:1", From: "the seed", Unreachable: &Unreachable{Way: WayNoAnswer, Words: "no route"}},
		"nodes: too slow": {Missing: []Unseen{{ListNodes, "too slow"}}},
	} {
		a := Explain(Snapshot{Objects: read(t, connected), Cloud: &Cloud{}, Inside: inside, Now: now})
		if len(a.Unseen) != 1 || a.Unseen[0].What+": "+a.Unseen[0].Why != want {
			t.Errorf("not seen: %v instead of %s", a.Unseen, want)
		}
		if strings.Contains(strings.Join(a.Well, " "), "nodes are ready") {
			t.Errorf("well: %v", a.Well)
		}
	}
}

// TestOnlyClustersThatWereUpAreAsked and none that is being deleted.
func TestOnlyClustersThatWereUpAreAsked(t *testing.T) {
	t.Parallel()
	going := strings.Replace(connected, "name: c,", `name: c, deletionTimestamp: "2026-01-02T09:00:00Z",`, 1)
	for text, want := range map[string]bool{connected: true, base + connected[strings.Index(connected, "kind: Machine"):]: false, going: false} {
		if got := Answers(read(t, text)); got != want {
			t.Errorf("%t of %s", got, text)
		}
	}
}

// TestTheClockOfWhoAsksMayBeWrong: from the seed, say, it is still this machine's that is compared.
func TestTheClockOfWhoAsksMayBeWrong(t *testing.T) {
	t.Parallel()
	inside := &Inside{At: now, From: "the seed", Ahead: time.Minute, Nodes: []Node{{Name: "w", Conditions: []NodeCondition{{Type: "Ready", Status: "True"}}, Renewed: now.Add(time.Minute)}}, Leaders: []Lease{{Name: "l", Renewed: now.Add(time.Minute)}}}
	a := Explain(Snapshot{Objects: read(t, connected), Cloud: &Cloud{}, Inside: inside, Now: now})
	if reasons(a) != "clock-skew Cluster c" || strings.Contains(a.Findings[0].Cause, "seed") || !strings.Contains(a.Findings[0].Fix, "on the one that asks") {
		t.Errorf("%+v", a.Findings)
	}
}

// TestWhoseCertificateHasExpired: what makes machines in the cloud tells of the cloud's, also where
// Keystone has another one, or nobody asked it.
func TestWhoseCertificateHasExpired(t *testing.T) {
	t.Parallel()
	const words = `Get "https://cloud.example.com:8774/v2.1/servers": tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-01-02T10:00:00Z is after 2026-01-01T00:00:00Z`
	for kind, want := range map[string]string{"OpenStackCluster": "cloud-certificate-expired OpenStackCluster c", "KubeadmControlPlane": "certificate-expired KubeadmControlPlane c"} {
		for _, asked := range []*Cloud{nil, {}} {
			a := Explain(Snapshot{Objects: read(t, connected+"---\nkind: "+kind+"\nmetadata: {name: c, namespace: prod}\nstatus: {conditions: [{type: Ready, status: \"False\", severity: Error, reason: X, message: '"+words+"'}]}\n"), Cloud: asked, Now: now})
			if reasons(a) != want {
				t.Errorf("%s: %q", kind, reasons(a))
			}
		}
	}
}

// TestAWebhookOfAClusterIsNotTheManagementClusters: what cannot be installed on a cluster is refused
// by a webhook of that cluster, which is none of the operator's, and may be about to answer.
func TestAWebhookOfAClusterIsNotTheManagementClusters(t *testing.T) {
	t.Parallel()
	const words = `Internal error occurred: failed calling webhook "validate.example.com": failed to call webhook: Post "https://hook.example.svc:443/": connect: connection refused`
	for phase, ending := range map[string]Ending{"Upgrading": Passing, "Failed": Final} {
		a := Explain(Snapshot{Objects: read(t, connected+"---\nkind: HelmRelease\nmetadata: {name: c-cni, namespace: prod}\nstatus: {phase: "+phase+", failureMessage: '"+words+"', "+
			"conditions: [{type: Ready, status: \"False\", reason: ReleaseFailed, message: '"+words+"', lastTransitionTime: \"2026-01-02T09:59:00Z\"}]}\n"), Now: now})
		if reasons(a) != "cluster-webhook-down webhook validate.example.com" || a.Findings[0].Ending != ending {
			t.Errorf("%s: %q, %+v", phase, reasons(a), a.Findings)
			continue
		}
		if object, _ := a.Findings[0].ForTenant(nil); object != "webhook validate.example.com" {
			t.Errorf("a tenant is told of %s", object)
		}
	}
	plane := strings.Replace(words, "validate.example.com", "default.machine.cluster.x-k8s.io", 1)
	a := Explain(Snapshot{Objects: read(t, connected+"---\nkind: KubeadmControlPlane\nmetadata: {name: p, namespace: prod}\nstatus: {conditions: [{type: Available, status: \"False\", reason: X, message: '"+plane+"'}]}\n"), Now: now})
	if reasons(a) != "webhook-down webhook default.machine.cluster.x-k8s.io" {
		t.Errorf("of the management cluster: %q", reasons(a))
	}
}
