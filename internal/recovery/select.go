package recovery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// Scope is what of a snapshot is wanted.
type Scope struct {
	// Own is the management cluster itself, "namespace/name": its new objects come
	// from up, the old ones stand for servers that are gone.
	Own string
	// Cluster, if set, is the only cluster that is wanted: its name, or
	// "namespace/name".
	Cluster string
}

// Skipped is an object of the snapshot that is not restored, and why.
type Skipped struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// systemNamespaces are those whose content up makes.
func systemNamespaces() []string {
	return append(ControllerNamespaces(), "kube-system", "kube-public", "kube-node-lease", "monitoring-system", "monitoring-nodes", "velero")
}

// ControllerNamespaces are those of the controllers that slipway up applies on a management
// cluster.
func ControllerNamespaces() []string {
	return []string{"cert-manager", "capi-system", "capi-kubeadm-bootstrap-system", "capi-kubeadm-control-plane-system",
		"capo-system", "orc-system", "capi-addon-system", "capi-janitor-system", "slipway-system"}
}

// authority is the Secret in a system namespace that is brought back: clients of the
// Magnum API trust it (addons/controllers.MagnumAuthority).
const authority = magnumNamespace + "/slipway-magnum-authority"

const magnumNamespace = "slipway-system"

// Choose splits the objects of a snapshot into those to restore and those to leave
// out, each with the reason. It returns copies. It is an error if Scope names a
// cluster that the snapshot does not have, or that is in several namespaces.
func Choose(s *snapshot.Snapshot, scope Scope) (wanted []*unstructured.Unstructured, out []Skipped, err error) {
	own := family(s.Objects, scope.Own)
	var only map[*unstructured.Unstructured]bool
	if scope.Cluster != "" {
		name, err := clusterNamed(s.Objects, scope.Cluster)
		if err != nil {
			return nil, nil, err
		}
		only = family(s.Objects, name)
	}
	used, homes, logins := map[string]bool{}, homes(s.Objects, own), identitySecrets(s.Objects)
	for _, o := range s.Objects {
		if o.GetKind() == kindNamespace && group(o) == "" {
			continue
		}
		reason := reasonAgainst(o, scope, own, only)
		if reason == "" && o.GetNamespace() != "" && !system(o.GetNamespace()) && !homes[o.GetNamespace()] {
			reason = "no workload cluster is in this namespace: the management cluster's own addons make it"
		}
		if scope.Cluster == "" && o.GetKind() == kindSecret && logins[o.GetNamespace()+"/"+o.GetName()] {
			reason = ""
		}
		if reason != "" {
			out = append(out, Skipped{Describe(o), reason})
			continue
		}
		wanted, used[o.GetNamespace()] = append(wanted, o.DeepCopy()), true
	}
	for _, o := range s.Objects {
		if o.GetKind() == kindNamespace && group(o) == "" && used[o.GetName()] && (!system(o.GetName()) || o.GetName() == magnumNamespace) {
			wanted = append(wanted, o.DeepCopy())
		}
	}
	return wanted, out, nil
}

const kindNamespace = "Namespace"

// homes are the namespaces of workload clusters: those with an object of another API
// group than Kubernetes' own that is not the management cluster's. Other namespaces, such
// as kube-flannel, belong to addons of the management cluster.
func homes(objects []*unstructured.Unstructured, own map[*unstructured.Unstructured]bool) map[string]bool {
	found := map[string]bool{}
	for _, o := range objects {
		if o.GetNamespace() != "" && !own[o] && strings.Contains(group(o), ".") && !strings.HasSuffix(group(o), ".k8s.io") || is(o, groupClusterAPI, "Cluster") && !own[o] {
			found[o.GetNamespace()] = true
		}
	}
	return found
}

// system reports whether a namespace is there without a restore.
func system(namespace string) bool {
	return namespace == "default" || slices.Contains(systemNamespaces(), namespace)
}

func reasonAgainst(o *unstructured.Unstructured, scope Scope, own, only map[*unstructured.Unstructured]bool) string {
	switch reason := neverRestored(o); {
	case reason != "":
		return reason
	case only != nil && !only[o]:
		return "it does not belong to " + scope.Cluster
	case own[o]:
		return "it belongs to the management cluster, which is new"
	}
	return ""
}

// neverRestored is why an object is not restored whatever the scope; "" is none.
func neverRestored(o *unstructured.Unstructured) string {
	kind, _, _ := unstructured.NestedString(o.Object, "type")
	switch {
	case group(o) == groupDefinitions:
		return "definitions come with the controllers"
	case o.GetKind() == "Secret" && o.GetNamespace()+"/"+o.GetName() == authority:
		return ""
	case slices.Contains(systemNamespaces(), o.GetNamespace()):
		return "slipway up makes what is in this namespace"
	case o.GetKind() == "Secret" && kind == "kubernetes.io/service-account-token":
		return "Kubernetes makes a new token"
	case o.GetKind() == "ConfigMap" && o.GetName() == "kube-root-ca.crt", o.GetKind() == "ServiceAccount" && o.GetName() == "default":
		return "Kubernetes makes it in every namespace"
	case group(o) == "coordination.k8s.io", o.GetKind() == "Event", o.GetKind() == "Pod", is(o, groupApps, "ReplicaSet"):
		return "controllers make it again"
	}
	return ""
}

// clusterNamed is the "namespace/name" of a Cluster, or of a Magnum Cluster.
func clusterNamed(objects []*unstructured.Unstructured, wanted string) (string, error) {
	found := map[string]bool{}
	for _, o := range objects {
		if o.GetKind() != "Cluster" || group(o) != groupClusterAPI && group(o) != groupMagnum {
			continue
		}
		key := o.GetNamespace() + "/" + o.GetName()
		uuid, _, _ := unstructured.NestedString(o.Object, "spec", "uuid")
		title, _, _ := unstructured.NestedString(o.Object, "spec", "name")
		if slices.Contains([]string{key, o.GetName(), uuid, title}, wanted) {
			if stack, _, _ := unstructured.NestedString(o.Object, "spec", "stackID"); group(o) == groupMagnum && stack != "" {
				key = o.GetNamespace() + "/" + stack
			}
			found[key] = true
		}
	}
	keys := slices.Sorted(maps.Keys(found))
	switch len(keys) {
	case 0:
		return "", fmt.Errorf("the backup has no cluster %q", wanted)
	case 1:
		return keys[0], nil
	}
	return "", fmt.Errorf("the backup has several clusters %q: %s", wanted, strings.Join(keys, ", "))
}

// family are the objects that belong to the Cluster "namespace/name": the Cluster and
// what it owns, directly or not; what is labelled or named after it in its namespace;
// and what those refer to. It has no objects of other clusters.
func family(objects []*unstructured.Unstructured, cluster string) map[*unstructured.Unstructured]bool {
	members, names, uids := map[*unstructured.Unstructured]bool{}, map[Reference]bool{}, map[string]bool{}
	namespace, name, _ := strings.Cut(cluster, "/")
	join := func(o *unstructured.Unstructured) {
		members[o], uids[string(o.GetUID())] = true, true
		for _, r := range References(o) {
			names[r] = true
		}
	}
	var others []*unstructured.Unstructured
	for _, o := range objects {
		switch {
		case name == "" || o.GetNamespace() != namespace:
		case belongs(o, name):
			join(o)
		case o.GetLabels()[labelCluster] == "":
			others = append(others, o)
		}
	}
	for before := -1; before != len(members); {
		before = len(members)
		for _, o := range others {
			if !members[o] && (ownedBy(o, uids) || names[selfReference(o)]) {
				join(o)
			}
		}
	}
	return members
}

// belongs reports whether an object in a Cluster's namespace is the Cluster, or is
// its by label, by spec.clusterName or by the name of its Helm release.
func belongs(o *unstructured.Unstructured, cluster string) bool {
	if (is(o, groupClusterAPI, "Cluster") || is(o, groupMagnum, "Cluster")) && o.GetName() == cluster || o.GetLabels()[labelCluster] == cluster {
		return true
	}
	if stack, _, _ := unstructured.NestedString(o.Object, "spec", "stackID"); is(o, groupMagnum, "Cluster") && stack == cluster {
		return true
	}
	if of, _, _ := unstructured.NestedString(o.Object, "spec", "clusterName"); of == cluster {
		return true
	}
	labels := o.GetLabels()
	return labels["slipway.sh/cluster"] == cluster || o.GetKind() == "Secret" && labels["owner"] == "helm" && labels["name"] == cluster
}

func ownedBy(o *unstructured.Unstructured, uids map[string]bool) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return uids[string(r.UID)] })
}
