package velero_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/velero"
)

// find is the object of a kind and name, nil without one.
func find(all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

func field(o *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return value
}

// TestValuesStayInTheirPlaces: whatever a value has in it, it is that value and nothing else.
func TestValuesStayInTheirPlaces(t *testing.T) {
	t.Parallel()
	const odd = "a\"\n---\nkind: Pod # {{ .Credentials }}"
	s := velero.Settings{Image: odd, PluginImage: odd, Bucket: odd, Prefix: odd, Endpoint: odd, Region: odd, Credentials: odd, CA: odd,
		Schedule: velero.Schedule{Cron: odd, KeepFor: odd, Namespaces: []string{odd}}, Environment: map[string]string{"HTTP_PROXY": odd}}
	all, err := velero.Objects(s)
	if err != nil {
		t.Fatal(err)
	}
	if find(all, "Pod", "") != nil || len(all) != 10 {
		t.Errorf("%d objects", len(all))
	}
	location := find(all, "BackupStorageLocation", velero.Location)
	if field(location, "spec", "config", "s3Url") != odd || field(location, "spec", "objectStorage", "bucket") != odd || field(location, "spec", "config", "s3ForcePathStyle") != "false" {
		t.Errorf("the location is %v", location)
	}
	if schedule := find(all, "Schedule", velero.Location); field(schedule, "spec", "schedule") != odd || field(schedule, "spec", "paused") != false {
		t.Errorf("the Schedule is %v", schedule)
	}
}

// TestRights: only a restore has the right to write everything.
func TestRights(t *testing.T) {
	t.Parallel()
	for _, restore := range []bool{false, true} {
		all, err := velero.Objects(velero.Settings{Restore: restore})
		if err != nil {
			t.Fatal(err)
		}
		if got := find(all, "ClusterRoleBinding", velero.RestoreBinding) != nil; got != restore {
			t.Errorf("restore %t: bound %t", restore, got)
		}
		rules, err := json.Marshal(field(find(all, "ClusterRole", "velero-backup"), "rules"))
		if err != nil || string(rules) != `[{"apiGroups":["*"],"resources":["*"],"verbs":["get","list","watch"]}]` {
			t.Errorf("a backup may %s", rules)
		}
	}
}

// TestSettingsAreReadWithoutQuotingThem: an error does not have the login in it.
func TestSettingsAreReadWithoutQuotingThem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"credentials": "hush`, `{"credentials": "hush"}`, `{"credentials": ["hush"]}`} {
		if _, err := velero.ParseSettings([]byte(text)); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", text, err)
		}
	}
	want := velero.Settings{Image: "a", PluginImage: "b", Bucket: "c", Credentials: "d", Schedule: velero.Schedule{Paused: true}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := velero.ParseSettings(text); err != nil || got.Bucket != "c" || !got.Schedule.Paused {
		t.Errorf("%v", err)
	}
}
