package images

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/config"
)

func TestVerifyFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.node(t, "node", qcow2(1))
	absent := f.node(t, "absent", qcow2(2))
	id := f.sync(t, i).ID
	if found, err := f.Verify(t.Context(), list(i), true); err != nil || len(found) > 0 {
		t.Fatalf("findings %+v (%v)", found, err)
	}
	client := f.Glance.client
	_, err := images.Update(t.Context(), client, id, images.UpdateOpts{
		images.UpdateImageProperty{Op: images.ReplaceOp, Name: "kube_version", Value: "v1.33.0"}, images.ReplaceImageMinDisk{NewMinDisk: 7},
		images.UpdateImageProperty{Op: images.RemoveOp, Name: "os_distro"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	found, err := f.Verify(t.Context(), list(i, absent), false)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(found)
	for _, want := range []string{`"property":"min_disk"`, `"property":"kube_version"`, `"property":"os_distro"`, `"image":"absent"`, "no image has its content", "is v1.33.0"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("findings %s without %s", text, want)
		}
	}
	for _, finding := range found {
		if finding.Remedy == "" {
			t.Errorf("no remedy: %+v", finding)
		}
	}
}

func TestRetire(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	made := func(id, version string, age int, change func(*Record)) Record {
		r := Record{ID: id, Name: "node-" + id, Status: "active", CreatedAt: now.AddDate(0, 0, -age), UpdatedAt: now.AddDate(0, 0, -age),
			Properties: map[string]string{PropertyMark: id, "kube_version": version}}
		if change != nil {
			change(&r)
		}
		return r
	}
	hidden := func(days int) func(*Record) {
		return func(r *Record) {
			r.Hidden, r.Properties[PropertyHidden] = true, now.AddDate(0, 0, -days).Format(time.RFC3339)
		}
	}
	list := []Record{
		made("listed", "v1.34.2", 1, nil), made("newer", "v1.34.1", 2, nil), made("older", "v1.34.0", 3, nil), made("used", "v1.34.0", 4, nil),
		made("named", "v1.34.0", 4, nil), made("other-minor", "v1.33.9", 50, nil), made("fresh-hidden", "v1.34.0", 60, hidden(2)), made("old-hidden", "v1.34.0", 61, hidden(8)),
		made("hidden-used", "v1.34.0", 61, func(r *Record) { hidden(8)(r) }), made("cut", "v1.34.0", 5, func(r *Record) { r.Status = "queued" }),
		made("busy", "v1.34.0", 5, func(r *Record) {
			r.Status, r.Properties[PropertyLease] = "saving", now.Add(time.Minute).Format(time.RFC3339)
		}),
		made("foreign", "v1.34.0", 70, func(r *Record) { delete(r.Properties, PropertyMark) }),
	}
	plan := Retire(list, map[string]bool{"listed": true}, map[string]string{"used": "server a", "node-named": "cluster template t", "hidden-used": "server b"},
		manifest.Retire{Keep: 2, DeleteAfter: config.Duration(7 * 24 * time.Hour)}, now)
	got := map[string]Step{}
	for _, p := range plan {
		got[p.Record.ID] = p.Step
		if p.Reason == "" {
			t.Errorf("no reason for %s", p.Record.ID)
		}
	}
	want := map[string]Step{"listed": Keep, "newer": Keep, "older": Hide, "used": Keep, "named": Keep, "other-minor": Keep, "fresh-hidden": Keep, "old-hidden": Delete, "hidden-used": Keep, "cut": Delete, "busy": Keep}
	for id, step := range want {
		if got[id] != step {
			t.Errorf("%s: %q, want %q", id, got[id], step)
		}
	}
	if len(got) != len(want) {
		t.Errorf("plan of %d images, want %d: no foreign ones", len(got), len(want))
	}
}

func TestPruneHidesThenDeletes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, two := f.node(t, "one", qcow2(1)), f.node(t, "two", qcow2(2))
	two.Protected = true
	results, err := f.Sync(t.Context(), list(one, two))
	if err != nil {
		t.Fatal(err)
	}
	stranger := f.other(t, f.sandbox.Member, qcow2(3), images.CreateOpts{Name: "theirs", DiskFormat: "qcow2"})
	m := list(one)
	prune := func(want Step) {
		t.Helper()
		plan, err := f.RetirementPlan(t.Context(), m)
		if err != nil || len(plan) > 2 {
			t.Fatalf("plan %+v (%v)", plan, err)
		}
		for _, p := range plan {
			if p.Record.ID == results[1].ID && p.Step != want || p.Record.ID == results[0].ID && p.Step != Keep {
				t.Errorf("plan %+v", plan)
			}
		}
		if err := f.Prune(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	prune(Hide)
	if r, err := f.Glance.Get(t.Context(), results[1].ID); err != nil || !r.Hidden {
		t.Errorf("after the first time: %+v (%v)", r, err)
	}
	prune(Delete)
	for _, r := range f.all(t) {
		if r.ID != results[0].ID && r.ID != stranger {
			t.Errorf("left: %+v", r)
		}
	}
	if len(f.all(t)) != 2 {
		t.Errorf("images %+v", f.all(t))
	}
}
