package move

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// entry is an object as it must arrive.
type entry struct {
	Kind, Name string
	// Owners are "Kind/name"; an owner that is missing, or is another object of that name, ends in
	// "?".
	Owners []string          `json:",omitempty"`
	Labels map[string]string `json:",omitempty"`
	// Content is the SHA-256, in hexadecimal, of the object without its metadata, status and
	// apiVersion; a Cluster's spec.paused does not count either.
	Content string
	// ProviderID is the server of a machine.
	ProviderID string `json:",omitempty"`
}

// inventory has the objects that are moved with a cluster, by key.
type inventory map[string]entry

// take makes the inventory of a side.
func (s Side) take(ctx context.Context, cluster types.NamespacedName) (inventory, error) {
	own, all, err := s.objects(ctx, cluster)
	if err != nil {
		return nil, err
	}
	there := map[types.UID]object{}
	for _, o := range all {
		there[o.GetUID()] = o
	}
	i := inventory{}
	for _, o := range own {
		e := entry{Kind: o.GetKind(), Name: o.GetName(), Labels: o.GetLabels(), Content: content(o)}
		e.ProviderID, _, _ = unstructured.NestedString(o.Object, "spec", "providerID")
		for _, owner := range o.GetOwnerReferences() {
			text := owner.Kind + "/" + owner.Name
			if known, found := there[owner.UID]; !found || known.GetKind() != owner.Kind || known.GetName() != owner.Name {
				text += "?"
			}
			e.Owners = append(e.Owners, text)
		}
		slices.Sort(e.Owners)
		i[o.key()] = e
	}
	return i, nil
}

// content is the digest of what the user or a controller wrote. It does not cover whether the
// Cluster is paused: a Cluster is paused while it is moved.
func content(o object) string {
	fields := maps.Clone(o.Object)
	for _, key := range []string{"metadata", "status", "apiVersion"} {
		delete(fields, key)
	}
	if spec, ok := fields["spec"].(map[string]any); ok && o.resource == clusterKind() {
		spec = maps.Clone(spec)
		delete(spec, "paused")
		fields["spec"] = spec
	}
	text, err := json.Marshal(fields)
	if err != nil { // it came as JSON
		return err.Error()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// differences lists what of an inventory did not arrive unchanged, one line each.
func (i inventory) differences(arrived inventory) []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(i)) {
		was := i[key]
		is, found := arrived[key]
		what := was.Kind + " " + was.Name
		switch {
		case !found:
			list = append(list, what+" is missing")
		case !slices.Equal(was.Owners, is.Owners):
			list = append(list, fmt.Sprintf("%s belongs to %s, not to %s", what, words(is.Owners), words(was.Owners)))
		case !maps.Equal(was.Labels, is.Labels):
			list = append(list, what+" has different labels")
		case was.ProviderID != is.ProviderID:
			list = append(list, fmt.Sprintf("%s has server %q, not %q", what, is.ProviderID, was.ProviderID))
		case was.Content != is.Content:
			list = append(list, what+" has different content")
		}
	}
	return list
}

func words(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// machines are the servers of the Machines, by the names of the Machines.
func (i inventory) machines() map[string]string {
	list := map[string]string{}
	for _, e := range i {
		if e.Kind == "Machine" {
			list[e.Name] = e.ProviderID
		}
	}
	return list
}
