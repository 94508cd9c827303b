package contract_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
)

// newImage makes an image without bytes, which ends with the test.
func newImage(t *testing.T, o images.CreateOpts) images.Image {
	t.Helper()
	client := member(t).Image(t)
	if o.Name == "" {
		o.Name = unique(t)
	}
	o.DiskFormat, o.ContainerFormat = "raw", "bare"
	v := must[*images.Image](t)(images.Create(t.Context(), client, o).Extract())
	t.Cleanup(func() {
		ctx := cleanup(t)
		_, _ = images.Update(ctx, client, v.ID, images.UpdateOpts{images.ReplaceImageProtected{NewProtected: false}}).Extract()
		_ = images.Delete(ctx, client, v.ID).ExtractErr()
	})
	return *v
}

// newActiveImage makes an image with bytes.
func newActiveImage(t *testing.T, o images.CreateOpts, content []byte) images.Image {
	t.Helper()
	v := newImage(t, o)
	client := member(t).Image(t)
	if err := imagedata.Upload(t.Context(), client, v.ID, bytes.NewReader(content)).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	return *must[*images.Image](t)(images.Get(t.Context(), client, v.ID).Extract())
}

func TestImageBytes(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("slipway "), 100_000)
	v := newActiveImage(t, images.CreateOpts{Properties: map[string]string{"os_distro": "debian", "kube_version": "v1.34.4"}, Tags: []string{"b", "a"}}, content)
	md, sha := md5.Sum(content), sha512.Sum512(content)
	if v.Status != images.ImageStatusActive || v.SizeBytes != int64(len(content)) || v.Checksum != hex.EncodeToString(md[:]) {
		t.Errorf("image %+v", v)
	}
	if v.Properties["os_hash_algo"] != "sha512" || v.Properties["os_hash_value"] != hex.EncodeToString(sha[:]) {
		t.Errorf("hash %v %v", v.Properties["os_hash_algo"], v.Properties["os_hash_value"])
	}
	if v.Properties["os_distro"] != "debian" || v.Properties["kube_version"] != "v1.34.4" || len(v.Tags) != 2 {
		t.Errorf("properties %v, tags %v", v.Properties, v.Tags)
	}
	client := member(t).Image(t)
	body := must[io.ReadCloser](t)(imagedata.Download(t.Context(), client, v.ID).Extract())
	defer body.Close()
	if got := must[[]byte](t)(io.ReadAll(body)); !bytes.Equal(got, content) {
		t.Errorf("%d bytes downloaded differ from %d uploaded", len(got), len(content))
	}
	part := raw(t, "GET", client.ServiceURL("images", v.ID, "file"), client.Token(), "", map[string]string{"Range": "bytes=8-14"})
	if part.status != http.StatusPartialContent || part.text != "slipway" {
		t.Errorf("a range: %d %q", part.status, part.text)
	}
	beyond := raw(t, "GET", client.ServiceURL("images", v.ID, "file"), client.Token(), "", map[string]string{"Range": fmt.Sprintf("bytes=%d-", len(content))})
	if beyond.status != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range beyond the end: %d, want 416", beyond.status)
	}
	// Few bytes: Glance refuses without reading, which resets a connection that has many.
	wantStatus(t, imagedata.Upload(t.Context(), client, v.ID, strings.NewReader("other")).ExtractErr(), http.StatusConflict)
}

func TestImageStates(t *testing.T) {
	t.Parallel()
	client := member(t).Image(t)
	v := newImage(t, images.CreateOpts{})
	if v.Status != images.ImageStatusQueued || v.Visibility != images.ImageVisibilityShared || v.Owner == "" {
		t.Errorf("a new image: %+v", v)
	}
	action := func(name string) int {
		return raw(t, "POST", client.ServiceURL("images", v.ID, "actions", name), client.Token(), "", nil).status
	}
	if got := raw(t, "GET", client.ServiceURL("images", v.ID, "file"), client.Token(), "", nil).status; got != http.StatusNoContent {
		t.Errorf("bytes of a queued image: %d, want 204", got)
	}
	if got := action("deactivate"); got != http.StatusForbidden {
		t.Errorf("deactivating a queued image: %d, want 403", got)
	}
	if err := imagedata.Upload(t.Context(), client, v.ID, bytes.NewReader([]byte("x"))).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if got := action("deactivate"); got != http.StatusNoContent {
		t.Errorf("deactivating: %d, want 204", got)
	}
	wantStatus(t, func() error { _, err := imagedata.Download(t.Context(), client, v.ID).Extract(); return err }(), http.StatusForbidden)
	if got := action("reactivate"); got != http.StatusNoContent {
		t.Errorf("reactivating: %d, want 204", got)
	}
}

func TestImageStageAndImport(t *testing.T) {
	t.Parallel()
	client := member(t).Image(t)
	v := newImage(t, images.CreateOpts{})
	begin := func() int {
		return raw(t, "POST", client.ServiceURL("images", v.ID, "import"), client.Token(), `{"method":{"name":"glance-direct"}}`, nil).status
	}
	if got := begin(); got != http.StatusConflict {
		t.Errorf("importing what was not staged: %d, want 409", got)
	}
	if err := imagedata.Stage(t.Context(), client, v.ID, bytes.NewReader([]byte("staged"))).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if got := must[*images.Image](t)(images.Get(t.Context(), client, v.ID).Extract()).Status; got != "uploading" {
		t.Errorf("a staged image is %s, want uploading", got)
	}
	if got := begin(); got != http.StatusAccepted {
		t.Fatalf("importing: %d, want 202", got)
	}
	eventually(t, "the import", func() bool {
		got, err := images.Get(t.Context(), client, v.ID).Extract()
		return err == nil && got.Status == images.ImageStatusActive && got.SizeBytes == 6
	})
	unknown := raw(t, "POST", client.ServiceURL("images", v.ID, "import"), client.Token(), `{"method":{"name":"carrier-pigeon"}}`, nil)
	if unknown.status != http.StatusBadRequest {
		t.Errorf("an unknown method: %d, want 400", unknown.status)
	}
}

func TestImageDelete(t *testing.T) {
	t.Parallel()
	client := member(t).Image(t)
	protected := true
	v := newImage(t, images.CreateOpts{Protected: &protected})
	wantStatus(t, images.Delete(t.Context(), client, v.ID).ExtractErr(), http.StatusForbidden)
	must[*images.Image](t)(images.Update(t.Context(), client, v.ID, images.UpdateOpts{images.ReplaceImageProtected{NewProtected: false}}).Extract())
	if err := images.Delete(t.Context(), client, v.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
	wantStatus(t, images.Delete(t.Context(), client, v.ID).ExtractErr(), http.StatusNotFound)
	_, err := images.Get(t.Context(), client, v.ID).Extract()
	wantStatus(t, err, http.StatusNotFound)
}

func TestImageErrors(t *testing.T) {
	t.Parallel()
	client := member(t).Image(t)
	v := newImage(t, images.CreateOpts{Properties: map[string]string{"mine": "1"}})
	const patch = "application/openstack-images-v2.1-json-patch"
	one := client.ServiceURL("images", v.ID)
	for _, c := range []struct {
		name, method, url, media, body string
		want                           int
	}{
		{"malformed body", "POST", client.ServiceURL("images"), "", `{"name":`, 400},
		{"bad format", "POST", client.ServiceURL("images"), "", `{"disk_format":"floppy"}`, 400},
		{"bad id", "POST", client.ServiceURL("images"), "", `{"id":"1"}`, 400},
		{"taken id", "POST", client.ServiceURL("images"), "", `{"id":"` + v.ID + `"}`, 409},
		{"negative disk", "POST", client.ServiceURL("images"), "", `{"min_disk":-1}`, 400},
		{"number as property", "POST", client.ServiceURL("images"), "", `{"mine":1}`, 400},
		{"status is read-only", "POST", client.ServiceURL("images"), "", `{"status":"active"}`, 403},
		{"public is for administrators", "POST", client.ServiceURL("images"), "", `{"visibility":"public"}`, 403},
		{"unknown image", "GET", client.ServiceURL("images", "00000000-0000-4000-8000-000000000000"), "", "", 404},
		{"patch of another type", "PATCH", one, "application/json", `[]`, 415},
		{"patch is no list", "PATCH", one, patch, `{}`, 400},
		{"unknown operation", "PATCH", one, patch, `[{"op":"test","path":"/name","value":"x"}]`, 400},
		{"path without slash", "PATCH", one, patch, `[{"op":"add","path":"name","value":"x"}]`, 400},
		{"replace of nothing", "PATCH", one, patch, `[{"op":"replace","path":"/other","value":"x"}]`, 409},
		{"remove of nothing", "PATCH", one, patch, `[{"op":"remove","path":"/other"}]`, 409},
		{"remove of an attribute", "PATCH", one, patch, `[{"op":"remove","path":"/name"}]`, 403},
		{"read-only attribute", "PATCH", one, patch, `[{"op":"replace","path":"/checksum","value":"x"}]`, 403},
		{"upload of another type", "PUT", client.ServiceURL("images", v.ID, "file"), "text/plain", `x`, 415},
		{"bad visibility", "GET", client.ServiceURL("images") + "?visibility=secret", "", "", 400},
		{"bad limit", "GET", client.ServiceURL("images") + "?limit=many", "", "", 400},
		{"bad marker", "GET", client.ServiceURL("images") + "?marker=nowhere", "", "", 400},
		{"bad sort key", "GET", client.ServiceURL("images") + "?sort_key=colour", "", "", 400},
	} {
		header := map[string]string{"Accept": "application/json"}
		if c.media != "" {
			header["Content-Type"] = c.media
		}
		if got := raw(t, c.method, c.url, client.Token(), c.body, header); got.status != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, got.status, c.want, got.text)
		}
	}
}

func TestImagePatch(t *testing.T) {
	t.Parallel()
	client := member(t).Image(t)
	v := newImage(t, images.CreateOpts{Properties: map[string]string{"old": "1", "stays": "2"}})
	changed := must[*images.Image](t)(images.Update(t.Context(), client, v.ID, images.UpdateOpts{
		images.ReplaceImageMinDisk{NewMinDisk: 7}, images.ReplaceImageMinRam{NewMinRam: 512}, images.ReplaceImageHidden{NewHidden: true},
		images.UpdateImageProperty{Op: images.AddOp, Name: "new", Value: "3"},
		images.UpdateImageProperty{Op: images.ReplaceOp, Name: "stays", Value: "4"},
		images.UpdateImageProperty{Op: images.RemoveOp, Name: "old"},
	}).Extract())
	_, old := changed.Properties["old"]
	if changed.MinDiskGigabytes != 7 || changed.MinRAMMegabytes != 512 || !changed.Hidden ||
		changed.Properties["new"] != "3" || changed.Properties["stays"] != "4" || old {
		t.Errorf("changed to %+v", changed)
	}
	half := images.UpdateOpts{images.ReplaceImageName{NewName: "half"}, images.UpdateImageProperty{Op: images.ReplaceOp, Name: "none", Value: "x"}}
	_, err := images.Update(t.Context(), client, v.ID, half).Extract()
	wantStatus(t, err, http.StatusConflict)
	if got := must[*images.Image](t)(images.Get(t.Context(), client, v.ID).Extract()).Name; got != v.Name {
		t.Errorf("a patch that failed left the name %q", got)
	}
}

// ids lists images and returns which of the wanted are there.
func ids(t *testing.T, client *gophercloud.ServiceClient, query string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for next := client.ServiceURL("images") + "?" + query; next != ""; {
		page := raw(t, "GET", next, client.Token(), "", nil)
		if page.status != http.StatusOK {
			t.Fatalf("listing %s: %d %s", next, page.status, page.text)
		}
		list, _ := page.at("images").([]any)
		for _, item := range list {
			found[item.(map[string]any)["id"].(string)] = true
		}
		path, _ := page.at("next").(string)
		if next = ""; path != "" {
			next = client.ServiceURL() + path[len("/v2/"):]
		}
	}
	return found
}

func TestImageList(t *testing.T) {
	t.Parallel()
	client := member(t).Image(t)
	tag := unique(t)
	small := newActiveImage(t, images.CreateOpts{Name: tag + "-small", Tags: []string{tag, "x"}, Properties: map[string]string{"os_distro": tag}}, []byte("1"))
	large := newActiveImage(t, images.CreateOpts{Name: tag + "-large", Tags: []string{tag}}, make([]byte, 5000))
	hidden := true
	ghost := newImage(t, images.CreateOpts{Tags: []string{tag}, Hidden: &hidden})
	for query, want := range map[string][]string{
		"limit=1&tag=" + tag:                             {small.ID, large.ID},
		"tag=x&tag=" + tag:                               {small.ID},
		"size_min=2&tag=" + tag:                          {large.ID},
		"size_max=2&tag=" + tag:                          {small.ID},
		"name=" + small.Name:                             {small.ID},
		"name=in:" + small.Name + "," + large.Name:       {small.ID, large.ID},
		"os_distro=" + tag:                               {small.ID},
		"os_hidden=true&tag=" + tag:                      {ghost.ID},
		"status=queued&tag=" + tag:                       {},
		"visibility=private&tag=" + tag:                  {},
		"created_at=gt:2100-01-01T00:00:00Z&tag=" + tag:  {},
		"created_at=gte:2020-01-01T00:00:00Z&tag=" + tag: {small.ID, large.ID},
	} {
		got := ids(t, client, query)
		for _, id := range want {
			if !got[id] {
				t.Errorf("%s: %s is missing", query, id)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d images, want %d", query, len(got), len(want))
		}
	}
	sorted := raw(t, "GET", client.ServiceURL("images")+"?sort=size:desc&tag="+tag, client.Token(), "", nil)
	if list, _ := sorted.at("images").([]any); len(list) != 2 || list[0].(map[string]any)["id"] != large.ID {
		t.Errorf("sorted by size: %s", sorted.text)
	}
}
