package cloud

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestADiagnosisKnowsImagesThatListsLeaveOut: of the community, and hidden; not those that the
// project may not use.
func TestADiagnosisKnowsImagesThatListsLeaveOut(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	upload := func(client sandboxtest.Clients, name string, visibility images.ImageVisibility, hidden bool) {
		t.Helper()
		if _, err := images.Create(t.Context(), client.Image(t), images.CreateOpts{Name: name, ContainerFormat: "bare", DiskFormat: "raw", Visibility: &visibility, Hidden: &hidden}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	upload(box.Member, "own", images.ImageVisibilityPrivate, false)
	upload(box.Member, "retired", images.ImageVisibilityPrivate, true)
	upload(box.Admin, "everybody's", images.ImageVisibilityCommunity, false)
	upload(box.Admin, "secret", images.ImageVisibilityPrivate, false)
	c, _ := open(t, box)
	s, err := c.Diagnosis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, i := range s.Images {
		found[i.Name] = i.Unlisted
	}
	for name, unlisted := range map[string]bool{"own": false, "retired": true, "everybody's": true} {
		if got, ok := found[name]; !ok || got != unlisted {
			t.Errorf("%s: there %v, unlisted %v", name, ok, got)
		}
	}
	if _, ok := found["secret"]; ok {
		t.Error("an image of another project is listed")
	}
}

// glance answers when three wait.
type glance struct {
	here atomic.Int32
	met  chan struct{}
}

func (g *glance) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.here.Add(1) == 3 {
		close(g.met)
	}
	select {
	case <-g.met:
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	name := "own"
	if r.URL.Query().Get("os_hidden") == "true" {
		name = "hidden"
	}
	body := `{"images": [{"id": "` + name + `", "name": "` + name + `"}]}`
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// TestTheListsOfImagesAreAskedForSideBySide, and an image that more than one has counts once.
func TestTheListsOfImagesAreAskedForSideBySide(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: &glance{met: make(chan struct{})}}}, Endpoint: "http://cloud.example/v2/"}
	var s Snapshot
	if err := listEveryImage(ctx, client, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Images) != 2 || s.Images[0].Name != "own" || s.Images[0].Unlisted || s.Images[1].Name != "hidden" || !s.Images[1].Unlisted {
		t.Errorf("listed %+v", s.Images)
	}
}
