package images

import (
	"io"
	"maps"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// answering answers calls in the cloud's place; status 0 leaves a call to the cloud.
type answering struct {
	next   http.RoundTripper
	answer func(*http.Request) (status int, body string)
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := a.answer(r)
	if status == 0 {
		return a.next.RoundTrip(r)
	}
	if r.Body != nil {
		r.Body.Close()
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

// refuse refuses the calls that a function names from now on.
func (f *fixture) refuse(status int, refused func(*http.Request) bool) {
	f.calls.next = &answering{f.calls.next, func(r *http.Request) (int, string) {
		if refused(r) {
			return status, `{"message": "refused"}`
		}
		return 0, ""
	}}
}

// withMagnum adds a Magnum to the catalog, of which only the answers are there.
func (f *fixture) withMagnum(t *testing.T) {
	t.Helper()
	identity := f.sandbox.Admin.Identity(t)
	service, err := services.Create(t.Context(), identity, services.CreateOpts{Type: "container-infra"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = endpoints.Create(t.Context(), identity, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Region: "RegionOne", URL: "http://magnum.invalid/v1", ServiceID: service.ID}).Extract(); err != nil {
		t.Fatal(err)
	}
	c := open(t, f.sandbox, "sandbox")
	f.calls.next = c.Provider.HTTPClient.Transport
	c.Provider.HTTPClient.Transport = f.calls
	if f.Glance, err = NewGlance(c); err != nil {
		t.Fatal(err)
	}
}

// TestWhoUsesImages: servers, volumes that are attached, and templates, of all projects if we may see
// them.
func TestWhoUsesImages(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/servers/detail": `{"servers": [{"name": "a", "image": {"id": "i1"}}, {"name": "of a volume", "image": ""}]}`,
		"/volumes/detail": `{"volumes": [{"id": "v", "name": "root", "volume_image_metadata": {"image_id": "i2"}, "attachments": [{}]}, {"id": "v2", "volume_image_metadata": {"image_id": "i3"}, "attachments": [{}]},
			{"id": "free", "volume_image_metadata": {"image_id": "i4"}, "attachments": []}, {"id": "data", "attachments": [{}]}]}`,
		"/clustertemplates": `{"clustertemplates": [{"name": "t", "image_id": "i5"}]}`,
	}
	all := map[string]string{"i1": "server a", "i2": "volume root", "i3": "volume v2", "i5": "cluster template t"}
	for name, test := range map[string]struct {
		status map[string]int // by the end of the path, with "all" for the lists of all projects
		want   map[string]string
	}{
		"an administrator":      {nil, all},
		"a member":              {map[string]int{"all/servers/detail": 403, "all/volumes/detail": 403}, all},
		"servers are a secret":  {map[string]int{"/servers/detail": 403}, nil},
		"volumes are a secret":  {map[string]int{"/volumes/detail": 403}, nil},
		"templates are":         {map[string]int{"/clustertemplates": 403}, nil},
		"servers are not there": {map[string]int{"all/servers/detail": 501}, nil},
		"volumes are not there": {map[string]int{"all/volumes/detail": 501}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.withMagnum(t)
			f.calls.next = &answering{f.calls.next, func(r *http.Request) (int, string) {
				for end, body := range answers {
					if !strings.HasSuffix(r.URL.Path, end) {
						continue
					}
					if status := test.status["all"+end]; status != 0 && r.URL.Query().Get("all_tenants") != "" {
						return status, "{}"
					}
					if status := test.status[end]; status != 0 {
						return status, "{}"
					}
					return http.StatusOK, body
				}
				return 0, ""
			}}
			got, err := f.Glance.Uses(t.Context())
			if !maps.Equal(got, test.want) || (err == nil) != (test.want != nil) {
				t.Errorf("%v, %v; want %v", got, err, test.want)
			}
		})
	}
	if got, err := newFixture(t).Glance.Uses(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("a cloud without Magnum: %v, %v", got, err)
	}
}

// TestImagesOfAnEnvironment are those that it uploaded, hidden ones too, of the project alone.
func TestImagesOfAnEnvironment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if plan, err := f.LeavePlan(t.Context(), "prod"); err != nil || len(plan) > 0 {
		t.Errorf("none: %+v, %v", plan, err)
	}
	made := func(i manifest.Image, by string) {
		f.UploadedBy = by
		f.sync(t, i)
	}
	hidden, public := f.node(t, "hidden", qcow2(2)), f.node(t, "public", qcow2(3))
	hidden.Hidden = true
	made(f.node(t, "node", qcow2(1)), "prod")
	made(hidden, "prod")
	made(f.node(t, "another's", qcow2(4)), "test")
	made(public, "")
	plan, err := f.LeavePlan(t.Context(), "prod")
	names := map[string]Step{}
	for _, p := range plan {
		names[p.Record.Name] = p.Step
	}
	if want := map[string]Step{"node": Delete, "hidden": Delete}; err != nil || !maps.Equal(names, want) {
		t.Errorf("%v, %v; want %v", names, err, want)
	}
	f.refuse(http.StatusForbidden, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/servers/detail") })
	if plan, err := f.LeavePlan(t.Context(), "prod"); err == nil || plan != nil {
		t.Errorf("without knowing who uses them: %+v, %v", plan, err)
	}
}

// listed says that a call lists images, hidden ones or others.
func listed(hidden string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodGet && path.Base(r.URL.Path) == "images" && (r.URL.Query().Get("os_hidden") == "true") == (hidden == "true")
	}
}

// TestWithoutAListOfImages nothing is uploaded, retired or said to be right.
func TestWithoutAListOfImages(t *testing.T) {
	t.Parallel()
	for _, hidden := range []string{"false", "true"} {
		f := newFixture(t)
		m := list(f.node(t, "node", qcow2(1)))
		f.refuse(http.StatusForbidden, listed(hidden))
		f.calls.take()
		if results, err := f.Sync(t.Context(), m); err == nil || len(results) > 0 {
			t.Errorf("hidden %s: synced %+v", hidden, results)
		}
		if found, err := f.Verify(t.Context(), m, false); err == nil {
			t.Errorf("hidden %s: verified, with %+v", hidden, found)
		}
		if plan, err := f.RetirementPlan(t.Context(), m); err == nil || plan != nil {
			t.Errorf("hidden %s: planned %+v", hidden, plan)
		}
		if plan, err := f.LeavePlan(t.Context(), "prod"); err == nil || plan != nil {
			t.Errorf("hidden %s: left %+v", hidden, plan)
		}
		for _, call := range f.calls.take() {
			if !strings.HasPrefix(call, "GET ") {
				t.Errorf("hidden %s: %s", hidden, call)
			}
		}
	}
}

// TestPlansOfImagesThatCannotBe: an image that cannot be read, or whose name has other bytes, and
// servers that cannot be listed leave no plan.
func TestPlansOfImagesThatCannotBe(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	absent := manifest.Image{Name: "absent", Key: "absent", File: "/nowhere/absent", Format: "qcow2"}
	if plan, err := f.RetirementPlan(t.Context(), list(absent)); err == nil || plan != nil {
		t.Errorf("of a file that is not there: %+v", plan)
	}
	f.refuse(http.StatusForbidden, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/servers/detail") })
	if plan, err := f.RetirementPlan(t.Context(), list(f.node(t, "node", qcow2(1)))); err == nil || plan != nil {
		t.Errorf("without knowing who uses them: %+v", plan)
	}
}

// TestMembersThatAreMissing are found, whether they were not offered the image or did not take it.
func TestMembersThatAreMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := manifest.Image{Name: "node", Visibility: "shared", Share: []manifest.Member{{Project: "p"}, {Project: "q"}, {Project: "r"}}}
	r := Record{ID: "1", Visibility: "shared"}
	status := http.StatusOK
	f.calls.next = &answering{f.calls.next, func(r *http.Request) (int, string) {
		if strings.HasSuffix(r.URL.Path, "/members") {
			return status, `{"members": [{"member_id": "p", "status": "accepted"}, {"member_id": "q", "status": "pending"}]}`
		}
		return 0, ""
	}}
	found, err := f.missingMembers(t.Context(), i, r)
	if err != nil || len(found) != 2 || found[0].Cause != "project q: pending" || found[1].Cause != "project r: not offered" || found[0].Remedy == "" {
		t.Errorf("%+v, %v", found, err)
	}
	private, mine, alone := i, r, i
	private.Visibility, mine.Visibility, alone.Share = "private", "private", nil
	status = http.StatusForbidden
	for name, test := range map[string]struct {
		image  manifest.Image
		record Record
	}{"shared with nobody": {alone, r}, "private here": {private, r}, "private there": {i, mine}} {
		if found, err := f.missingMembers(t.Context(), test.image, test.record); err != nil || found != nil {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	if _, err := f.missingMembers(t.Context(), i, r); err == nil {
		t.Error("members that cannot be listed are not told of")
	}
	step := event.Start(f.Events, "image", "")
	if changed, err := f.share(t.Context(), i, r, step); err == nil || changed {
		t.Errorf("shared although nobody knows with whom: %t", changed)
	}
}

// TestContentThatGlanceHasNot is found also without reading all of it.
func TestContentThatGlanceHasNot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	step := event.Start(f.Events, "image", "")
	body, status := "", http.StatusOK
	f.calls.next = &answering{f.calls.next, func(*http.Request) (int, string) { return status, body }}
	for name, test := range map[string]struct {
		size   int64
		body   string
		status int
		want   string
	}{
		"nothing of something": {9, "", 200, "Glance has no content of it"}, "nothing of nothing": {0, "", 200, ""}, "something": {9, "x", 200, ""}, "refused": {9, "x", 403, "reading its content"},
	} {
		body, status = test.body, test.status
		err := f.readable(t.Context(), manifest.Image{}, Record{ID: "1", Size: test.size}, false, step)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestTasksThatFailed tell why an import did, in their own words if there are any.
func TestTasksThatFailed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := ""
	f.calls.next = &answering{f.calls.next, func(*http.Request) (int, string) { return http.StatusOK, body }}
	for tasks, want := range map[string]string{
		`{"tasks": [{"status": "success", "message": "done"}, {"status": "failure", "message": "no such host"}]}`: "no such host",
		`{"tasks": [{"status": "failure", "message": ""}, {"status": "processing", "message": "busy"}]}`:          "Glance did not accept the image: its status is queued",
	} {
		body = tasks
		if err := f.taskError(t.Context(), Record{ID: "1"}, "queued"); err.Error() != want {
			t.Errorf("%s: %q, want %q", tasks, err, want)
		}
	}
}

// TestCallsThatFailLeaveTheImage as it was, and are told of.
func TestCallsThatFailLeaveTheImage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.node(t, "node", qcow2(1))
	f.sync(t, i)
	before := f.all(t)[0]
	f.refuse(http.StatusForbidden, func(r *http.Request) bool { return r.Method == http.MethodPatch || r.Method == http.MethodDelete })
	before.Protected = true
	for name, err := range map[string]error{
		"hiding": f.retire(t.Context(), Retirement{before, Hide, ""}), "deleting": f.retire(t.Context(), Retirement{before, Delete, ""}),
		"making way": f.makeWay(t.Context(), before), "putting it back": f.putBack(t.Context(), before), "discarding": f.discard(t.Context(), before),
		"pruning": f.Prune(t.Context(), []Retirement{{before, Keep, ""}, {before, Hide, ""}}),
	} {
		if err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	if err := f.Prune(t.Context(), []Retirement{{before, Keep, ""}}); err != nil {
		t.Errorf("one that stays: %v", err)
	}
	renamed := i
	renamed.KubernetesVersion = "v1.34.3"
	if results, err := f.Sync(t.Context(), list(renamed)); err == nil || len(results) > 0 {
		t.Errorf("one that is to be described otherwise: %+v", results)
	}
	if _, _, err := f.bring(t.Context(), i, Choice{Action: Upload, Replaced: &before}, event.Start(f.Events, "image", "")); err == nil {
		t.Error("an image is replaced by one that has no room")
	}
	if _, err := f.claim(t.Context(), i, &Record{ID: before.ID, Status: "killed"}); err == nil {
		t.Error("a leftover that stays is no error")
	}
	f.refuse(http.StatusRequestEntityTooLarge, func(r *http.Request) bool { return r.Method == http.MethodPost })
	if _, err := f.claim(t.Context(), i, nil); !strings.Contains(fault.Remedy(err), "image prune") {
		t.Errorf("a full Glance: %v, remedy %q", err, fault.Remedy(err))
	}
	if after := f.all(t); len(after) != 1 || after[0].Status != string(images.ImageStatusActive) || after[0].Name != "node" || after[0].Hidden {
		t.Errorf("left %+v", after)
	}
}
