package recovery

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// kindIdentity names a Secret by which clusters of several namespaces log in (CAPO's
// api/v1alpha1). It is in no namespace.
const kindIdentity = "OpenStackClusterIdentity"

// sharedBy reports whether a cluster logs in by an OpenStackClusterIdentity, given its identityRef.
func sharedBy(identityRef map[string]any) bool { return text(identityRef, "type") == "ClusterIdentity" }

// identitySecrets are the Secrets, "namespace/name", that identities name. Operators make them,
// in any namespace.
func identitySecrets(objects []*unstructured.Unstructured) map[string]bool {
	found := map[string]bool{}
	for _, o := range objects {
		if is(o, groupOpenStack, kindIdentity) {
			found[secretOf(o)] = true
		}
	}
	return found
}

// secretOf is the Secret of an identity.
func secretOf(identity *unstructured.Unstructured) string {
	r := secretReference(identity)
	return r.Namespace + "/" + r.Name
}

func secretReference(identity *unstructured.Unstructured) Reference {
	return Reference{Kind: kindSecret, Namespace: str(identity, "spec", "secretRef", "namespace"), Name: str(identity, "spec", "secretRef", "name")}
}
