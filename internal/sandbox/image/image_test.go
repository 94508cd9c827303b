package image_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imageimport"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/quota"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func create(t *testing.T, client *gophercloud.ServiceClient) *images.Image {
	t.Helper()
	v, err := images.Create(t.Context(), client, images.CreateOpts{Name: "test", DiskFormat: "raw", ContainerFormat: "bare"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func status(t *testing.T, client *gophercloud.ServiceClient, id string) images.ImageStatus {
	t.Helper()
	v, err := images.Get(t.Context(), client, id).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return v.Status
}

func waitFor(t *testing.T, client *gophercloud.ServiceClient, id string, want images.ImageStatus) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if status(t, client, id) == want {
			return
		}
	}
	t.Fatalf("image is %s, want %s", status(t, client, id), want)
}

// files are the names of the files that the service keeps.
func files(t *testing.T, cloud *sandboxtest.Cloud) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(cloud.Env.Dir, "image", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestBrokenUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.Image(t)
	v := create(t, client)
	broken := io.MultiReader(bytes.NewReader(make([]byte, 600<<10)), iotest.ErrReader(errors.New("cable cut")))
	if err := image.Write(t.Context(), cloud.Env, v.ID, broken); err == nil {
		t.Error("a broken upload was taken")
	}
	if got := status(t, client, v.ID); got != images.ImageStatusQueued {
		t.Errorf("status %s after a broken upload, want queued", got)
	}
	if left := files(t, cloud); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
	if err := imagedata.Upload(t.Context(), client, v.ID, bytes.NewReader([]byte("again"))).ExtractErr(); err != nil {
		t.Errorf("uploading again: %v", err)
	}
}

func TestCrashWhileSaving(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	saving, whole := create(t, cloud.Member.Image(t)), create(t, cloud.Member.Image(t))
	if err := imagedata.Upload(t.Context(), cloud.Member.Image(t), whole.ID, bytes.NewReader([]byte("kept"))).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(cloud.Env.Dir, "image", saving.ID+".writer.part")
	if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := cloud.Env.Store.Update(func(tx *store.Tx) error {
		cloud.Env.Model.Image.Images.Change(tx, saving.ID, func(v *model.Image) { v.Status, v.Writer = model.ImageSaving, "writer" })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cloud.Restart(t)
	client := cloud.Member.Image(t)
	if got := status(t, client, saving.ID); got != images.ImageStatusQueued {
		t.Errorf("status %s after the crash, want queued", got)
	}
	if left := files(t, cloud); len(left) != 1 || filepath.Base(left[0]) != whole.ID {
		t.Errorf("files %v, want only that of %s", left, whole.ID)
	}
	body, err := imagedata.Download(t.Context(), client, whole.ID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(body); string(text) != "kept" {
		t.Errorf("downloaded %q", text)
	}
}

func TestDeleteDuringUpload(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.Image(t)
	v := create(t, client)
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- image.Write(context.WithoutCancel(t.Context()), cloud.Env, v.ID, reader) }()
	if _, err := writer.Write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := imagedata.Upload(t.Context(), client, v.ID, bytes.NewReader([]byte("other"))).ExtractErr(); !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		t.Errorf("second upload: %v, want 409", err)
	}
	if err := images.Delete(t.Context(), client, v.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	if err := <-done; err == nil {
		t.Error("the upload of a deleted image succeeded")
	}
	if left := files(t, cloud); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}

func TestWebDownload(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.Image(t)
	origin := httptest.NewServer(http.FileServerFS(os.DirFS(t.TempDir())))
	t.Cleanup(origin.Close)
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("image")) }))
	t.Cleanup(good.Close)

	v := create(t, client)
	bring := func(uri string) error {
		return imageimport.Create(t.Context(), client, v.ID, imageimport.CreateOpts{Name: imageimport.WebDownloadMethod, URI: uri}).ExtractErr()
	}
	if err := bring(origin.URL + "/missing"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, client, v.ID, images.ImageStatusQueued)
	failed, err := images.Get(t.Context(), client, v.ID).Extract()
	if err != nil || failed.Properties["os_glance_failed_import"] != "file" {
		t.Errorf("properties %v after a failed import, %v", failed.Properties, err)
	}
	if err := bring("file:///etc/passwd"); !gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
		t.Errorf("a file as address: %v, want 400", err)
	}
	if err := bring(good.URL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, client, v.ID, images.ImageStatusActive)
	taken, err := images.Get(t.Context(), client, v.ID).Extract()
	if err != nil || taken.SizeBytes != 5 || taken.Checksum != "78805a221a988e79ef3f42d7c5bfd418" {
		t.Errorf("image %+v, %v", taken, err)
	}
}

func TestHoldKeepsImage(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.Image(t)
	v := create(t, client)
	update := func(fn func(tx *store.Tx) error) error { return cloud.Env.Store.Update(fn) }
	hold := func(tx *store.Tx) error { return image.Hold(tx, cloud.Env.Model, v.ID, "server") }
	if err := update(hold); err == nil {
		t.Error("an image without bytes was held")
	}
	if err := imagedata.Upload(t.Context(), client, v.ID, bytes.NewReader([]byte("x"))).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := update(hold); err != nil {
		t.Fatal(err)
	}
	if err := images.Delete(t.Context(), client, v.ID).ExtractErr(); !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		t.Errorf("deleting a held image: %v, want 409", err)
	}
	_ = update(func(tx *store.Tx) error { image.Release(tx, cloud.Env.Model, "server"); return nil })
	if err := images.Delete(t.Context(), client, v.ID).ExtractErr(); err != nil {
		t.Errorf("deleting after the release: %v", err)
	}
	if _, err := os.Stat(image.File(cloud.Env, v.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the bytes of a deleted image: %v", err)
	}
}

func TestStorageLimits(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.Image(t)
	v := create(t, client)
	upload := func() error {
		return imagedata.Upload(t.Context(), client, v.ID, bytes.NewReader(make([]byte, 3<<20))).ExtractErr()
	}
	set := quota.Set{Service: "image", Quotas: cloud.Env.Model.Quotas}
	owner := v.Owner
	_ = cloud.Env.Store.Update(func(tx *store.Tx) error { set.Set(tx, owner, map[string]int{"image_size_total": 2}); return nil })
	if err := upload(); !gophercloud.ResponseCodeIs(err, http.StatusRequestEntityTooLarge) {
		t.Errorf("3 MiB with a limit of 2: %v, want 413", err)
	}
	_ = cloud.Env.Store.Update(func(tx *store.Tx) error { set.Reset(tx, owner); return nil })
	if _, err := cloud.Faults.Add(faultinject.Rule{Kind: faultinject.DiskFull, Service: "image", Times: 1}); err != nil {
		t.Fatal(err)
	}
	if err := upload(); !gophercloud.ResponseCodeIs(err, http.StatusRequestEntityTooLarge) {
		t.Errorf("a full disk: %v, want 413", err)
	}
	if err := upload(); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}
