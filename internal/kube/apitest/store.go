package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// resource is a kind that the server has.
type resource struct {
	kind, plural string
	namespaced   bool
}

// global are kinds that are in no namespace.
const global = " Namespace Node PersistentVolume ClusterRole ClusterRoleBinding StorageClass PriorityClass CustomResourceDefinition ValidatingWebhookConfiguration " +
	"MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding FlowSchema PriorityLevelConfiguration RuntimeClass APIService CSIDriver IngressClass "

// builtIn are the kinds of Kubernetes.
func builtIn() map[schema.GroupVersion][]resource {
	all := map[schema.GroupVersion][]resource{{Group: "apiextensions.k8s.io", Version: "v1"}: {{"CustomResourceDefinition", "customresourcedefinitions", false}}}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if kind.Version == "__internal" || strings.HasSuffix(kind.Kind, "List") || strings.HasSuffix(kind.Kind, "Options") || kind.Kind == "WatchEvent" {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		all[kind.GroupVersion()] = append(all[kind.GroupVersion()], resource{kind.Kind, plural.Resource, !strings.Contains(global, " "+kind.Kind+" ")})
	}
	return all
}

// discover answers who asks for the kinds.
func (s *Server) discover(w http.ResponseWriter, path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := func(v schema.GroupVersion) metav1.GroupVersionForDiscovery {
		return metav1.GroupVersionForDiscovery{GroupVersion: v.String(), Version: v.Version}
	}
	switch path {
	case "/version":
		answer(w, map[string]string{"major": "1", "minor": "34", "gitVersion": "v1.34.4+k3s1"})
		return true
	case "/readyz":
		return true
	case "/api":
		answer(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}})
		return true
	case "/apis":
		groups := map[string]*metav1.APIGroup{}
		for _, v := range slices.SortedFunc(maps.Keys(s.kinds), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }) {
			if v.Group == "" {
				continue
			}
			if groups[v.Group] == nil {
				groups[v.Group] = &metav1.APIGroup{Name: v.Group, PreferredVersion: version(v)}
			}
			groups[v.Group].Versions = append(groups[v.Group].Versions, version(v))
		}
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			list.Groups = append(list.Groups, *groups[name])
		}
		answer(w, list)
		return true
	}
	of, err := schema.ParseGroupVersion(strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/"))
	if kinds := s.kinds[of]; err == nil && kinds != nil {
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: of.String()}
		for _, k := range kinds {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: k.plural, Kind: k.kind, Namespaced: k.namespaced,
				Verbs: metav1.Verbs{"get", "list", "watch", "create", "update", "patch", "delete"}})
		}
		answer(w, list)
		return true
	}
	return false
}

// parse reads a path; kind is that of its objects.
func (s *Server) parse(path string) (at place, kind string, known bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		at.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		at.Group, at.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return at, "", false
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		at.namespace, parts = parts[1], parts[2:]
	}
	at.Resource = parts[0]
	if len(parts) > 1 {
		at.name = parts[1]
	}
	for _, k := range s.kinds[at.GroupVersion()] {
		if k.plural == at.Resource {
			return at, k.kind, true
		}
	}
	return at, "", false
}

// placeOf is the place of an object of a known kind.
func (s *Server) placeOf(o *unstructured.Unstructured) place {
	of := o.GroupVersionKind()
	for _, k := range s.kinds[of.GroupVersion()] {
		if k.kind == of.Kind {
			return place{of.GroupVersion().WithResource(k.plural), o.GetNamespace(), o.GetName()}
		}
	}
	panic("no kind " + of.String())
}

// write keeps an object, as controllers leave it.
func (s *Server) write(at place, o *unstructured.Unstructured) *unstructured.Unstructured {
	kind := "ADDED"
	if was := s.objects[at]; was != nil {
		kind = "MODIFIED"
		o.SetUID(was.GetUID())
		o.SetGeneration(was.GetGeneration())
		if !reflect.DeepEqual(was.Object["spec"], o.Object["spec"]) {
			o.SetGeneration(was.GetGeneration() + 1)
		}
	} else if o.GetUID() == "" {
		o.SetUID(uid(len(s.events)))
	}
	o.SetName(at.name)
	o.SetNamespace(at.namespace)
	o.SetGeneration(max(o.GetGeneration(), 1))
	o.SetResourceVersion(fmt.Sprint(len(s.events) + 1))
	more := s.Control(o)
	s.define(o)
	s.objects[at] = o
	s.tell(event{kind, at, o.DeepCopy().Object})
	var made []place
	for _, other := range more {
		s.write(s.placeOf(other), other)
		made = append(made, s.placeOf(other))
	}
	for _, former := range s.made[at] {
		if !slices.Contains(made, former) {
			s.remove(former)
		}
	}
	s.made[at] = made
	return o
}

// remove deletes an object, with what controllers made of it.
func (s *Server) remove(at place) {
	o := s.objects[at]
	if o == nil {
		return
	}
	delete(s.objects, at)
	s.tell(event{"DELETED", at, o.Object})
	for _, made := range s.made[at] {
		s.remove(made)
	}
	delete(s.made, at)
}

func (s *Server) tell(e event) {
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

// define has the server serve the kind of a definition.
func (s *Server) define(o *unstructured.Unstructured) {
	if o.GetKind() != "CustomResourceDefinition" {
		return
	}
	word := func(path ...string) string {
		text, _, _ := unstructured.NestedString(o.Object, path...)
		return text
	}
	made := resource{word("spec", "names", "kind"), word("spec", "names", "plural"), word("spec", "scope") == "Namespaced"}
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, v := range versions {
		of := schema.GroupVersion{Group: word("spec", "group"), Version: fmt.Sprint(v.(map[string]any)["name"])}
		if !slices.Contains(s.kinds[of], made) {
			s.kinds[of] = append(s.kinds[of], made)
		}
	}
}

func (s *Server) sorted() []place {
	return slices.SortedFunc(maps.Keys(s.objects), func(a, b place) int { return strings.Compare(a.path(), b.path()) })
}

// path is how tests name a place.
func (p place) path() string {
	return p.Resource + " " + strings.TrimPrefix(p.namespace+"/"+p.name, "/")
}

// in reports whether an object's place is in a collection, or is that.
func (p place) in(of place) bool {
	return p.GroupVersionResource == of.GroupVersionResource && (of.namespace == "" || of.namespace == p.namespace) && (of.name == "" || of.name == p.name)
}

// chosen reports whether selectors choose an object.
func chosen(query url.Values, o map[string]any) bool {
	object := unstructured.Unstructured{Object: o}
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil || !byLabel.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return false
	}
	for _, r := range byField.Requirements() {
		if text, _, _ := unstructured.NestedString(o, strings.Split(r.Field, ".")...); text != r.Value {
			return false
		}
	}
	return true
}

// merge puts a patch into an object; what is null is left out.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		below, isMap := value.(map[string]any)
		there, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(there, below)
		default:
			into[key] = value
		}
	}
}

func answer(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text)
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	answer(w, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReason(reason), Code: int32(code), Message: "refused: " + reason})
}
