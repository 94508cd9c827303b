package recovery

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reference names an object, without its version.
type Reference struct {
	Group, Kind, Namespace, Name string
}

// String is "Kind namespace/name".
func (r Reference) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

func selfReference(o *unstructured.Unstructured) Reference {
	return Reference{group(o), o.GetKind(), o.GetNamespace(), o.GetName()}
}

// Describe names an object for people: "Machine tenant/a-1".
func Describe(o *unstructured.Unstructured) string { return selfReference(o).String() }

// References are the objects that the spec of an object names: templates and
// configurations by group and kind, Secrets and ConfigMaps by the fields that Cluster
// API, CAPO, the addon provider and Magnum have for them. Values of charts are the
// chart's own affair.
func References(o *unstructured.Unstructured) []Reference {
	spec, ok := o.Object["spec"].(map[string]any)
	if !ok || group(o) == "" {
		return nil
	}
	var all []Reference
	seek(spec, func(r Reference) {
		if r.Namespace == "" && r.Kind != kindIdentity {
			r.Namespace = o.GetNamespace()
		}
		all = append(all, r)
	})
	return all
}

// seek finds the references below a value.
func seek(value any, found func(Reference)) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			seek(one, found)
		}
	case map[string]any:
		if r, ok := objectReference(v); ok {
			found(r)
		}
		for key, below := range v {
			if key == "values" || key == "defaultValues" || key == "manifests" {
				continue
			}
			m, _ := below.(map[string]any)
			if kind := named(key); kind != "" {
				if name := nameIn(below); key == "identityRef" && sharedBy(m) {
					found(Reference{Group: groupOpenStack, Kind: kindIdentity, Name: name})
				} else if name != "" {
					found(Reference{Kind: kind, Namespace: text(m, "namespace"), Name: name})
				}
			}
			if m != nil && key == "templateRef" && m["kind"] == nil {
				found(Reference{groupMagnum, kindTemplate, text(m, "namespace"), text(m, "name")})
				continue
			}
			seek(below, found)
		}
	}
}

// named is the kind that a field names by the object's name.
func named(field string) string {
	switch field {
	case "identityRef", "userDataRef", "dataSecretName", "secretName", "secret", "secretRef", "secretKeyRef":
		return kindSecret
	case "configMap", "configMapRef", "configMapKeyRef":
		return kindConfigMap
	}
	return ""
}

const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
	kindTemplate  = "ClusterTemplate"
)

// nameIn is the name of a field that is one, or has one and no kind.
func nameIn(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case map[string]any:
		if v["kind"] == nil {
			return text(v, "name")
		}
	}
	return ""
}

// objectReference reads an object reference of a kind that a backup has.
func objectReference(v map[string]any) (Reference, bool) {
	r := Reference{text(v, "apiGroup"), text(v, "kind"), text(v, "namespace"), text(v, "name")}
	if r.Group == "" {
		version, err := schema.ParseGroupVersion(text(v, "apiVersion"))
		if err != nil {
			return r, false
		}
		r.Group = version.Group
	}
	known := strings.HasSuffix(r.Group, groupClusterAPI) || r.Group == groupAddons || r.Group == groupMagnum || r.Group == groupResources ||
		r.Group == "" && (r.Kind == kindSecret || r.Kind == kindConfigMap)
	return r, known && r.Kind != "" && r.Name != ""
}

func text(m map[string]any, key string) string {
	value, _ := m[key].(string)
	return value
}

func str(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}
