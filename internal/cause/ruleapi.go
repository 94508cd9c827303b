package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// skew is how far two clocks may differ: kubelets renew their leases every ten seconds,
// and the header Date has whole seconds.
const skew = 30 * time.Second

// stale is how old a lease may be: leaders renew theirs every two seconds, kubelets every
// ten.
const stale = 2 * time.Minute

// apiRules are about the API server of the cluster, as it is asked itself.
func apiRules() []Rule {
	const k = "Kubernetes"
	return []Rule{
		{ID: "api-refused", Layer: k, Ending: Outside, Meaning: "The address of the Kubernetes API refuses connections: no API server listens behind it.",
			Fix:  "see the load balancer and the control planes in this answer; if their servers run, read the kubelet's journal and the log of kube-apiserver on a control plane",
			find: reached(WayRefused)},
		{ID: "api-untrusted", Layer: k, Ending: Outside, Meaning: "Behind the address of the Kubernetes API another server answers, or one with a certificate of another authority.",
			Fix:  "see whose address it is with openstack floating ip list and openstack loadbalancer list; if the cluster's authority was replaced, delete its Secret with the kubeconfig so that Cluster API writes it again",
			find: reached(WayUntrusted)},
		{ID: "api-login-refused", Layer: k, Ending: Outside, Meaning: "The Kubernetes API does not accept the certificate of the cluster's kubeconfig.",
			Fix:  "delete the cluster's Secret with the kubeconfig so that Cluster API writes it again; if it is refused again, the cluster's authority differs from the one in its Secrets",
			find: reached(WayLogin)},
		{ID: "api-not-ready", Layer: k, Ending: Outside, Meaning: "The Kubernetes API answers, but one of its own checks fails.",
			Fix: "see the log of kube-apiserver on the control planes for the check", find: notReady},
		{ID: "writes-stall", Layer: "etcd", Ending: Outside, Meaning: "The cluster takes no writes: no component of it can renew its lease.",
			Fix: "see etcd: it is out of space, or has lost its majority; slipway etcd defrag as root on a control plane clears the former, control planes that come back end the latter", find: stalled},
	}
}

// reached is a hit if the API server does not answer in a way. That only this machine does
// not reach it is no fault of the cluster: where Cluster API reaches it, it is not told.
func reached(ways ...Way) func(*scene) []hit {
	return func(v *scene) []hit {
		i := v.Inside
		if i == nil || i.Unreachable == nil || v.cluster == nil || v.ending() || !slices.Contains(ways, i.Unreachable.Way) {
			return nil
		}
		if certain := slices.Contains([]Way{WayExpired, WayUntrusted, WayLogin}, i.Unreachable.Way); !certain && v.connected() {
			return nil
		}
		words := map[Way]string{WayRefused: "its API at %s refuses connections", WayNoAnswer: "its API at %s does not answer", WayNoName: "the name of its API, %s, cannot be resolved",
			WayExpired: "the certificate of its API at %s has expired", WayUntrusted: "the certificate of its API at %s is not of the cluster's authority, or for another name", WayLogin: "its API at %s does not accept the certificate of its kubeconfig"}
		return []hit{{object: v.top(), cause: fmt.Sprintf(words[i.Unreachable.Way], i.Address), source: "its API, asked from " + i.From, since: v.disconnected(),
			evidence: []string{i.Address + ": " + oneLine(i.Unreachable.Words)}}}
	}
}

// connected reports whether Cluster API reaches the API server.
func (v *scene) connected() bool {
	return slices.ContainsFunc(Conditions(v.cluster), func(c Condition) bool { return c.Type == "RemoteConnectionProbe" && c.Status == "True" })
}

// firstStart is how long an API server may take to answer for the first time, from when the cloud
// has the server of a control plane: bare metal boots for ten minutes, and an emulated machine needs as
// long for kubeadm.
const firstStart = 20 * time.Minute

// neverAnswered takes back that Cluster API does not reach an API server that has never answered, and
// cannot yet: it says so from five minutes on, also while no control plane has a server.
func neverAnswered(v *scene, c complaint, _ string) bool {
	if Answers(v.Objects) || strings.Contains(c.text(), "last succe") { // "succeeded", "successful probe"
		return false
	}
	for _, machine := range v.Objects["Machine"] {
		if controls(machine) && v.upFor(machine) > firstStart {
			return false
		}
	}
	return true
}

// upFor is how long the cloud has had the server of a machine; 0 without one.
func (v *scene) upFor(machine *unstructured.Unstructured) time.Duration {
	for _, is := range Conditions(machine) {
		if is.Type == "InfrastructureReady" && is.Status == "True" {
			return v.Now.Sub(is.Since)
		}
	}
	return 0
}

// disconnected is since when Cluster API does not reach the API server; zero if it does.
func (v *scene) disconnected() time.Time {
	for _, c := range Conditions(v.cluster) {
		if c.Type == "RemoteConnectionProbe" && c.Status == "False" {
			return c.Since
		}
	}
	return time.Time{}
}

// notReady are failing checks of the API server that no other rule tells.
func notReady(v *scene) []hit {
	if v.Inside == nil || v.cluster == nil {
		return nil
	}
	var checks []string
	for _, check := range v.Inside.Failing {
		if !strings.HasPrefix(check, "etcd") {
			checks = append(checks, check)
		}
	}
	if len(checks) == 0 {
		return nil
	}
	return []hit{{object: v.top(), cause: "its API server is not ready: " + strings.Join(checks, ", "), source: "its API", evidence: []string{"/readyz: " + strings.Join(checks, ", ")}}}
}

// etcdFails is a failing check of etcd.
func etcdFails(v *scene) []hit {
	if v.Inside == nil || v.cluster == nil || !slices.ContainsFunc(v.Inside.Failing, func(check string) bool { return strings.HasPrefix(check, "etcd") }) {
		return nil
	}
	return []hit{{object: v.top(), cause: "its API server does not reach etcd, or etcd has no leader", source: "its API", evidence: []string{"/readyz: " + strings.Join(v.Inside.Failing, ", ")}}}
}

// etcdFull are words of a full etcd in what the cluster tells.
func etcdFull(v *scene) []hit {
	const full = "database space exceeded"
	if v.Inside == nil || v.cluster == nil {
		return nil
	}
	for _, w := range v.Inside.Warnings {
		if strings.Contains(w.Message, full) && v.Now.Sub(w.Last) < recent {
			return []hit{{object: v.top(), cause: "etcd: " + full, since: w.First, source: w.About.String(), evidence: []string{w.About.String() + ": " + oneLine(w.Message)}}}
		}
	}
	for _, p := range v.Inside.Pods {
		for _, c := range p.Containers {
			if strings.Contains(c.Words, full) {
				return []hit{{object: v.top(), cause: "etcd: " + full, source: p.ref().String(), evidence: []string{p.ref().String() + ": " + oneLine(c.Words)}}}
			}
		}
	}
	return nil
}

// there is the time at the API server when it was asked.
func (v *scene) there() time.Time {
	at := v.Inside.At
	if at.IsZero() {
		at = v.Now
	}
	return at.Add(v.Inside.Ahead)
}

// stalled is a hit if neither a leader nor a kubelet has renewed its lease for long.
func stalled(v *scene) []hit {
	if !v.Inside.knows(ListLeases) || v.cluster == nil || len(v.Inside.Leaders) == 0 {
		return nil
	}
	last := time.Time{}
	for _, l := range v.Inside.Leaders {
		last = later(last, l.Renewed)
	}
	for _, n := range v.Inside.Nodes {
		last = later(last, n.Renewed)
	}
	if last.IsZero() || v.there().Sub(last) < stale {
		return nil
	}
	return []hit{{object: v.top(), cause: fmt.Sprintf("no leader of its control plane and no kubelet has renewed its lease for %s", v.there().Sub(last).Round(time.Second)), since: last, source: "its API",
		evidence: []string{"the latest lease was renewed at " + last.UTC().Format(time.RFC3339)}}}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// wrongClocks are an API server and nodes whose clocks differ. A kubelet writes the time of
// its own clock into its lease. An old lease of a node that is Ready is one too: whether it
// is renewed is judged by its change, not by its time.
func wrongClocks(v *scene) []hit {
	if v.Inside == nil || v.Inside.Unreachable != nil || v.cluster == nil {
		return nil
	}
	var hits []hit
	if ahead := v.Inside.Ahead; ahead.Abs() > skew {
		hits = append(hits, hit{object: v.top(), cause: "the clock of its API server is " + by(ahead) + " the clock of the machine that asks", source: "its API, asked from " + v.Inside.From,
			evidence: []string{"the header Date of its API differs by " + ahead.Round(time.Second).String()}})
	}
	if !v.Inside.knows(ListLeases) || len(stalled(v)) > 0 {
		return hits
	}
	for _, n := range v.Inside.Nodes {
		ahead := n.Renewed.Sub(v.there())
		if n.Renewed.IsZero() || ahead < skew && (ahead > -stale || n.condition("Ready").Status != "True") {
			continue
		}
		object := v.under(v.nodeParent(n.Name), Ref{Kind: "Node", Name: n.Name})
		hits = append(hits, hit{object: object, cause: "its clock is " + by(ahead) + " that of the API server", source: "its lease", evidence: []string{"Lease kube-node-lease/" + n.Name + ": renewed at " + n.Renewed.UTC().Format(time.RFC3339)}})
	}
	return hits
}

// by is "5m0s ahead of" or "5m0s behind".
func by(ahead time.Duration) string {
	if ahead < 0 {
		return ahead.Abs().Round(time.Second).String() + " behind"
	}
	return ahead.Round(time.Second).String() + " ahead of"
}

// skewed are kubelets that do not fit the API server: newer, or more than three minor
// versions older (kubernetes.io/releases/version-skew-policy).
func skewed(v *scene) []hit {
	const oldest = 3
	server, ok := minor(v.Inside)
	if !ok {
		return nil
	}
	var hits []hit
	for _, n := range v.Inside.Nodes {
		if kubelet, ok := minorOf(n.Version); ok && (kubelet > max(server, v.rolledTo(n.Name)) || kubelet < server-oldest) {
			words := fmt.Sprintf("its kubelet is %s, and the API server is %s", n.Version, v.Inside.Version)
			hits = append(hits, hit{object: v.under(v.nodeParent(n.Name), Ref{Kind: "Node", Name: n.Name}), cause: words, source: "its kubelet", evidence: []string{"Node " + n.Name + ": " + words}})
		}
	}
	return hits
}

// rolledTo is the minor version that control planes are brought to, if a node is one of them: while
// they are replaced, one of the former answers for the new ones, too.
func (v *scene) rolledTo(node string) int {
	plane := first(v.Objects["KubeadmControlPlane"])
	isControl := slices.ContainsFunc(v.Objects["Machine"], func(m *unstructured.Unstructured) bool {
		return controls(m) && text(m, "status", "nodeRef", "name") == node
	})
	if plane == nil || !isControl {
		return 0
	}
	wanted, _ := minorOf(text(plane, "spec", "version"))
	return wanted
}

func minor(i *Inside) (int, bool) {
	if i == nil {
		return 0, false
	}
	return minorOf(i.Version)
}

// minorOf is 34 of v1.34.4.
func minorOf(version string) (number int, ok bool) {
	_, err := fmt.Sscanf(version, "v1.%d", &number)
	return number, err == nil
}
