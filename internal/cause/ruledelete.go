package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deleteRules are about a cluster that is being deleted: what is not well of it need not
// be, and what counts is what its deletion waits for.
func deleteRules() []Rule {
	return []Rule{
		{ID: "deletion-waits", Layer: "Cluster API", Ending: Passing, Meaning: "The deletion of the cluster, or of a machine, waits for a part of it to be gone.",
			Fix:  "wait; if it stays so, see what the object says with kubectl describe, and end what keeps it: a pod disruption budget, a volume in use, a finalizer whose controller is gone, or a resource in the cloud that cannot be deleted",
			find: awaited},
		{ID: "drain-blocked", Layer: "Cluster API", Ending: Outside, Meaning: "A machine that is to be replaced or deleted cannot be drained: its pods may not be evicted.",
			Fix: "give the workload more replicas, relax the pod disruption budget that the words name, or set nodeDrainTimeout of the machines", find: undrained},
	}
}

// patient is how long a machine of a cluster that stays may take to be drained and deleted,
// and stubbornly how long a drain may be refused until waiting counts as vain.
const (
	patient     = 2 * time.Minute
	stubbornly  = 10 * time.Minute
	notEvicted  = "cannot evict pod"
	disruptions = "disruption budget"
)

// undrained are machines whose drain is refused for long, in a cluster that stays.
func undrained(v *scene) []hit { return v.replaced(true) }

// replaced are machines of a cluster that stays whose deletion takes long: blocked are those
// whose pods may not be evicted.
func (v *scene) replaced(blocked bool) (hits []hit) {
	if v.ending() {
		return nil
	}
	for _, m := range v.members {
		if m.machine == nil || !m.leaving() || v.Now.Sub(m.machine.GetDeletionTimestamp().Time) < patient {
			continue
		}
		for _, h := range v.held(m.machine, m.remains()) {
			refused := strings.Contains(h.cause, notEvicted) || strings.Contains(h.cause, disruptions)
			if (refused && v.Now.Sub(h.since) > stubbornly) == blocked {
				hits = append(hits, h)
			}
		}
	}
	return hits
}

// awaited is what the deletion waits for: machines first, then the control plane, then the
// infrastructure, in the order in which Cluster API deletes (reconcileDelete of its
// cluster controller), and the Cluster itself only if none of them is left.
func awaited(v *scene) []hit {
	if !v.ending() {
		return v.replaced(false)
	}
	var hits []hit
	for _, m := range v.members {
		if m.machine != nil && m.leaving() {
			hits = append(hits, v.held(m.machine, m.remains())...)
		}
	}
	for _, kind := range []string{"KubeadmControlPlane", "OpenStackCluster", "Cluster"} {
		for _, o := range v.Objects[kind] {
			if len(hits) == 0 && o.GetDeletionTimestamp() != nil {
				hits = append(hits, v.held(o, "")...)
			}
		}
	}
	return hits
}

// remains is what Nova still has of a machine that is being deleted.
func (m member) remains() string {
	if m.nova == nil {
		return ""
	}
	return fmt.Sprintf("its server is %s%s", m.nova.Status, doing(m.nova.Task))
}

// needless reports whether a reason is about the life inside a cluster that is being
// deleted: when its last machines go, so do etcd and its API, and Cluster API says so
// while it goes on.
func (v *scene) needless(reason string) bool {
	return v.ending() && slices.Contains([]string{"etcd-unhealthy", "etcd-no-space", "api-unreachable", "version-skew", "certificate-expired", "load-balancer-member-down"}, reason)
}

// held says what keeps one object: its condition Deleting, else its finalizers.
func (v *scene) held(o *unstructured.Unstructured, remains string) []hit {
	object := refOf(o)
	h := hit{object: object, since: o.GetDeletionTimestamp().Time, source: speaker(o.GetKind())}
	for _, c := range Conditions(o) {
		if c.Type == "Deleting" && c.Status == "True" && c.Message != "" && c.Message != "Deletion started" {
			h.cause = oneLine(c.Message)
			if c.Since.After(h.since) {
				h.since = c.Since
			}
			h.evidence = append(h.evidence, object.String()+" Deleting: "+c.Reason+": "+h.cause)
			break
		}
	}
	if finalizers := o.GetFinalizers(); h.cause == "" && len(finalizers) > 0 {
		h.cause = "it is being deleted, and waits for " + strings.Join(slices.Sorted(slices.Values(finalizers)), ", ")
		h.evidence = append(h.evidence, object.String()+": "+h.cause)
	}
	if remains != "" {
		h.cause = cmp.Or(h.cause, remains)
		h.evidence = append(h.evidence, "Nova: "+remains)
	}
	if h.cause == "" {
		return nil // it says nothing yet
	}
	return []hit{h}
}
