package capture

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/backup"
)

// resource is a kind of objects with the path of its list.
type resource struct {
	group, version, kind, path string
}

func (r resource) apiVersion() string { return strings.TrimPrefix(r.group+"/"+r.version, "/") }

// definitions are the CustomResourceDefinitions.
func definitions() resource {
	return resource{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"}
}

// core are the built-in kinds that are read.
func core() []resource {
	return []resource{
		{"", "v1", "Namespace", "/api/v1/namespaces"},
		{"", "v1", "Secret", "/api/v1/secrets"},
		{"", "v1", "ConfigMap", "/api/v1/configmaps"},
	}
}

// Groups are the API groups whose objects are read: those of Cluster API's
// providers, of ORC, of the addon provider, of the Magnum endpoint and of
// cert-manager. An entry that begins with a dot stands for all groups below it. The
// network's own objects describe the nodes of this very cluster, so that they must
// not come to another one.
func Groups() []string {
	return []string{".cluster.x-k8s.io", "cluster.x-k8s.io", "openstack.k-orc.cloud", "addons.stackhpc.com", "magnum.slipway.sh", "cert-manager.io"}
}

// Known are the groups of Groups by their full names, for rules of Kubernetes, which know
// no wildcards. A group that is not here and is found all the same must be given.
func Known() []string {
	all := []string{"openstack.k-orc.cloud", "addons.stackhpc.com", "magnum.slipway.sh", "cert-manager.io", "cluster.x-k8s.io"}
	for _, one := range []string{"addons", "bootstrap", "clusterctl", "controlplane", "infrastructure", "ipam", "operator", "runtime"} {
		all = append(all, one+".cluster.x-k8s.io")
	}
	return all
}

func (o Options) wants(group string) bool {
	return slices.ContainsFunc(append(Groups(), o.Groups...), func(one string) bool {
		return one == group || strings.HasPrefix(one, ".") && strings.HasSuffix(group, one)
	})
}

// transient are kinds of the groups that controllers make again: orders at an issuer
// of certificates.
func transient(kind string) bool { return kind == "CertificateRequest" }

// custom is the kind of a definition, in the version in which its objects are
// stored: so no conversion webhook is needed to read them, nor to restore them.
func (r *reader) custom(raw []byte) ([]resource, error) {
	var definition struct {
		Spec struct {
			Group string
			Names struct{ Kind, Plural string }
			// Versions have one that is stored.
			Versions []struct {
				Name            string
				Served, Storage bool
			}
		}
	}
	if err := json.Unmarshal(raw, &definition); err != nil {
		return nil, fmt.Errorf("reading a definition: %w", err)
	}
	spec := definition.Spec
	if !r.options.wants(spec.Group) || transient(spec.Names.Kind) {
		return nil, nil
	}
	chosen := ""
	for _, version := range spec.Versions {
		if version.Served && (version.Storage || chosen == "") {
			chosen = version.Name
		}
		if version.Served && version.Storage {
			break
		}
	}
	if chosen == "" {
		return nil, nil // nothing of it can be read, and nobody uses it
	}
	return []resource{{spec.Group, chosen, spec.Names.Kind, "/apis/" + spec.Group + "/" + chosen + "/" + spec.Names.Plural}}, nil
}

// provider takes the version of one of Cluster API's providers.
func (r *reader) provider(o item) error {
	var found struct{ ProviderName, Type, Version string }
	if err := json.Unmarshal(o.raw, &found); err != nil {
		return fmt.Errorf("reading a provider: %w", err)
	}
	name := found.ProviderName
	for kind, prefix := range map[string]string{"BootstrapProvider": "bootstrap-", "ControlPlaneProvider": "control-plane-", "InfrastructureProvider": "infrastructure-"} {
		if found.Type == kind {
			name = prefix + name
		}
	}
	r.versions[name] = found.Version
	return nil
}

func sorted(all []resource) []resource {
	slices.SortFunc(all, func(x, y resource) int {
		return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.kind, y.kind))
	})
	return all
}

// item is an object of a list.
type item struct{ raw []byte }

// head is what is looked at of an object.
type head struct {
	Metadata struct{ Namespace, Name string }
	Type     string
}

// add adds an object unless the cluster makes it by itself. The items of lists of
// built-in kinds do not say what they are.
func (r *reader) add(ctx context.Context, kind resource, raw json.RawMessage, look func(item) error) (int, error) {
	var h head
	if err := json.Unmarshal(raw, &h); err != nil {
		return 0, fmt.Errorf("%s: %w", kind.path, err)
	}
	if own(kind.kind, h) {
		return 0, nil
	}
	if err := look(item{raw}); err != nil {
		return 0, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return 0, fmt.Errorf("%s: %w", kind.path, err)
	}
	fields["apiVersion"], fields["kind"] = quoted(kind.apiVersion()), quoted(kind.kind)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fields); err != nil {
		return 0, fmt.Errorf("%s %s/%s: %w", kind.kind, h.Metadata.Namespace, h.Metadata.Name, err)
	}
	r.objects++
	return 1, r.into.Add(ctx, backup.Object{Group: kind.group, Kind: kind.kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name, JSON: text.Bytes()})
}

func quoted(text string) json.RawMessage { return json.RawMessage(`"` + text + `"`) }

// own reports whether each cluster makes the object for itself, so that one of
// another cluster would be wrong: tokens of its nodes and service accounts, its own
// CA, and what kubeadm and k3s keep about it.
func own(kind string, h head) bool {
	switch kind {
	case "Secret":
		return h.Type == "kubernetes.io/service-account-token" || h.Type == "bootstrap.kubernetes.io/token" || strings.HasSuffix(h.Metadata.Name, ".node-password.k3s")
	case "ConfigMap":
		return h.Metadata.Name == "kube-root-ca.crt" || h.Metadata.Namespace == "kube-system" && h.Metadata.Name == "extension-apiserver-authentication"
	}
	return false
}
