package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deleteRules are about a cluster that is being deleted: what is not well of it need not
// be, and what counts is what its deletion waits for.
func deleteRules() []Rule {
	return []Rule{
		{ID: "deletion-waits", Layer: "Cluster API", Ending: Passing, Meaning: "The deletion of the cluster waits for a part of it to be gone.",
			Fix:  "wait; if it stays so, see what the object says with kubectl describe, and end what keeps it: a pod disruption budget, a volume in use, a finalizer whose controller is gone, or a resource in the cloud that cannot be deleted",
			find: awaited},
	}
}

// awaited is what the deletion waits for: machines first, then the control plane, then the
// infrastructure, in the order in which Cluster API deletes (reconcileDelete of its
// cluster controller), and the Cluster itself only if none of them is left.
func awaited(v *scene) []hit {
	if !v.ending() {
		return nil
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
