package move

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDifferencesNameWhatDidNotArrive(t *testing.T) {
	t.Parallel()
	machine := entry{Kind: "Machine", Name: "m", Owners: []string{"MachineSet/s"}, Labels: map[string]string{"a": "b"}, Content: "1", ProviderID: "openstack:///1"}
	for name, test := range map[string]struct {
		change func(*entry)
		want   []string
	}{
		"the same":          {func(*entry) {}, nil},
		"owner not there":   {func(e *entry) { e.Owners = []string{"MachineSet/s?"} }, []string{"Machine m belongs to MachineSet/s?, not to MachineSet/s"}},
		"no owner":          {func(e *entry) { e.Owners = nil }, []string{"Machine m belongs to nothing, not to MachineSet/s"}},
		"another server":    {func(e *entry) { e.ProviderID = "openstack:///2" }, []string{`Machine m has server "openstack:///2", not "openstack:///1"`}},
		"another content":   {func(e *entry) { e.Content = "2" }, []string{"Machine m has different content"}},
		"a label is gone":   {func(e *entry) { e.Labels = nil }, []string{"Machine m has different labels"}},
		"it did not arrive": {nil, []string{"Machine m is missing"}},
	} {
		arrived := inventory{"other": {Kind: "Secret", Name: "beside"}}
		if test.change != nil {
			e := machine
			test.change(&e)
			arrived["m"] = e
		}
		if got := (inventory{"m": machine}).differences(arrived); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestWhatGoesAlong(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	make := func(resource schema.GroupVersionResource, name, owner string, labels map[string]any) object {
		metadata := map[string]any{"name": name, "uid": name, "labels": labels}
		if owner != "" {
			metadata["ownerReferences"] = []any{map[string]any{"uid": owner, "name": owner, "kind": "K", "apiVersion": "v1"}}
		}
		return object{&unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}, resource}
	}
	all := []object{
		make(secrets, "bootstrap", "config", nil), // before what owns it
		make(schema.GroupVersionResource{Resource: "configs"}, "config", "c", nil),
		make(clusterKind(), "c", "", nil),
		make(secrets, "c-etcd", "", nil),
		make(secrets, "d-etcd", "", nil),
		make(secrets, "c-anything", "", nil),
		make(secrets, "labelled", "", map[string]any{"clusterctl.cluster.x-k8s.io/move": ""}),
		make(secrets, "slipway-move-c", "", nil),
		make(secrets, "c-ca", "somebody", nil),
	}
	var got []string
	for _, o := range belonging(all, "c") {
		got = append(got, o.GetName())
	}
	slices.Sort(got)
	if want := []string{"bootstrap", "c", "c-etcd", "config", "labelled"}; !slices.Equal(got, want) {
		t.Errorf("%q go along, want %q", got, want)
	}
}

func TestWhereTheObjectsAre(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		record *Record
		place  Place
		done   bool
	}{
		{nil, Seed, true},
		{&Record{To: Management, Phase: copying}, Seed, false},
		{&Record{To: Management, Phase: deleting}, Management, false},
		{&Record{To: Management, Phase: rested}, Management, true},
		{&Record{To: Seed, Phase: copying}, Management, false},
		{&Record{To: Seed, Phase: deleting}, Seed, false},
	} {
		if test.record.Place() != test.place || test.record.Done() != test.done {
			t.Errorf("%+v: %s, done %t", test.record, test.record.Place(), test.record.Done())
		}
	}
}
