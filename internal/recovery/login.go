package recovery

import (
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Login is how a cluster's controllers log in to its project.
type Login struct {
	// Cluster is "namespace/name".
	Cluster string
	// Entry is the entry of CloudsYAML; CA may be empty, and so may Region, which is the entry's then.
	Entry, Region  string
	CloudsYAML, CA []byte
	// Err is why there is no login: the Secret is missing or not readable.
	Err error
}

// Logins are those of the Clusters that a plan restores, from the identity that each
// OpenStackCluster names.
func Logins(plan *Plan, live []*unstructured.Unstructured) []Login {
	secrets, clusters, shared := map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
	for _, o := range live {
		switch {
		case o.GetKind() == kindSecret:
			secrets[o.GetNamespace()+"/"+o.GetName()] = o
		case is(o, groupOpenStack, "OpenStackCluster"):
			clusters[clusterOf(o)] = o
		case is(o, groupOpenStack, kindIdentity):
			shared[o.GetName()] = o
		}
	}
	var all []Login
	for _, name := range plan.Clusters() {
		l := Login{Cluster: name}
		if o := clusters[name]; o == nil {
			l.Err = fmt.Errorf("it has no OpenStackCluster")
		} else {
			l.read(o, secrets, shared)
		}
		all = append(all, l)
	}
	return all
}

func (l *Login) read(o *unstructured.Unstructured, secrets, shared map[string]*unstructured.Unstructured) {
	l.Entry, l.Region = str(o, "spec", "identityRef", "cloudName"), str(o, "spec", "identityRef", "region")
	name := str(o, "spec", "identityRef", "name")
	key := o.GetNamespace() + "/" + name
	if ref, _, _ := unstructured.NestedMap(o.Object, "spec", "identityRef"); sharedBy(ref) {
		identity := shared[name]
		if identity == nil {
			l.Err = fmt.Errorf("its %s %s is not there", kindIdentity, name)
			return
		}
		key = secretOf(identity)
	}
	secret := secrets[key]
	if secret == nil {
		l.Err = fmt.Errorf("its Secret %s is not there", key)
		return
	}
	for field, to := range map[string]*[]byte{"clouds.yaml": &l.CloudsYAML, "cacert": &l.CA} {
		text, err := base64.StdEncoding.DecodeString(str(secret, "data", field))
		if err != nil {
			l.Err = fmt.Errorf("%s in its Secret %s is no base64", field, key) // the library's error could quote it
			return
		}
		*to = text
	}
	if len(l.CloudsYAML) == 0 {
		l.Err = fmt.Errorf("its Secret %s has no clouds.yaml", key)
	}
}
