package objectstore_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// filesBelow counts the files of objects.
func filesBelow(dir string) (n int) {
	_ = filepath.WalkDir(filepath.Join(dir, "objects"), func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return nil
	})
	return n
}

func start(t *testing.T, options ...func(*sandbox.Options)) (cloud *sandboxtest.Cloud, dir string) {
	t.Helper()
	cloud = sandboxtest.Start(t, append(options, func(o *sandbox.Options) { dir = o.Dir })...)
	if _, err := containers.Create(t.Context(), cloud.Member.ObjectStorage(t), "backup", nil).Extract(); err != nil {
		t.Fatal(err)
	}
	return cloud, dir
}

func put(t *testing.T, cloud *sandboxtest.Cloud, name, content string) {
	t.Helper()
	_, err := objects.Create(t.Context(), cloud.Member.ObjectStorage(t), "backup", name, objects.CreateOpts{Content: strings.NewReader(content)}).Extract()
	if err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, cloud *sandboxtest.Cloud, name string) (string, error) {
	t.Helper()
	download := objects.Download(t.Context(), cloud.Member.ObjectStorage(t), "backup", name, nil)
	if download.Err != nil {
		return "", download.Err
	}
	content, err := download.ExtractContent()
	return string(content), err
}

// TestBrokenUploadLeavesTheOld sends half of an object and goes away.
func TestBrokenUploadLeavesTheOld(t *testing.T) {
	t.Parallel()
	cloud, dir := start(t)
	put(t, cloud, "state", "old")
	client := cloud.Member.ObjectStorage(t)
	target, err := url.Parse(client.ServiceURL("backup", "state"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", target.Host)
	if err != nil {
		t.Fatal(err)
	}
	request := "PUT " + target.Path + " HTTP/1.1\r\nHost: " + target.Host + "\r\nX-Auth-Token: " + client.Token() + "\r\nContent-Length: 1000\r\n\r\nhalf"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); filesBelow(dir) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the upload did not begin")
		}
	}
	conn.Close()
	for end := time.Now().Add(10 * time.Second); filesBelow(dir) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d files are left", filesBelow(dir))
		}
	}
	if content, err := get(t, cloud, "state"); err != nil || content != "old" {
		t.Errorf("the object is %q, %v", content, err)
	}
}

func TestRestartKeepsObjectsAndSweeps(t *testing.T) {
	t.Parallel()
	cloud, dir := start(t)
	put(t, cloud, "state", "kept")
	orphan := filepath.Join(dir, "objects", "ff", "ffffffff-0000-0000-0000-000000000000")
	if err := os.MkdirAll(filepath.Dir(orphan), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{orphan, orphan + ".part"} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cloud.Restart(t)
	if content, err := get(t, cloud, "state"); err != nil || content != "kept" {
		t.Errorf("the object is %q, %v", content, err)
	}
	if n := filesBelow(dir); n != 1 {
		t.Errorf("%d files are left, want 1", n)
	}
}

func TestOverwritingRemovesTheOldFile(t *testing.T) {
	t.Parallel()
	cloud, dir := start(t)
	for _, content := range []string{"one", "two", "three"} {
		put(t, cloud, "state", content)
	}
	if n := filesBelow(dir); n != 1 {
		t.Errorf("%d files after overwriting twice", n)
	}
	if _, err := objects.Delete(t.Context(), cloud.Member.ObjectStorage(t), "backup", "state", nil).Extract(); err != nil {
		t.Fatal(err)
	}
	if n := filesBelow(dir); n != 0 {
		t.Errorf("%d files after deletion", n)
	}
}

func TestExpiryByClock(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	cloud, dir := start(t, func(o *sandbox.Options) { o.Clock = clock })
	client := cloud.Member.ObjectStorage(t)
	_, err := objects.Create(t.Context(), client, "backup", "brief", objects.CreateOpts{Content: bytes.NewReader([]byte("x")), DeleteAfter: 60}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	clock.Step(59 * time.Second)
	if _, err := get(t, cloud, "brief"); err != nil {
		t.Errorf("before its time: %v", err)
	}
	clock.Step(2 * time.Second)
	if _, err := get(t, cloud, "brief"); err == nil {
		t.Error("it can be read after its time")
	}
	for end := time.Now().Add(10 * time.Second); filesBelow(dir) > 0; time.Sleep(time.Millisecond) {
		clock.Step(time.Minute)
		if time.Now().After(end) {
			t.Fatal("its file was not removed")
		}
	}
}

func TestNoTokenNoAccess(t *testing.T) {
	t.Parallel()
	cloud, _ := start(t)
	put(t, cloud, "state", "private")
	base := cloud.Member.ObjectStorage(t).ServiceURL("backup", "state")
	for _, method := range []string{"GET", "HEAD", "PUT", "POST", "DELETE", "COPY"} {
		request, err := http.NewRequestWithContext(t.Context(), method, base, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Destination", "/backup/other")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", method, response.StatusCode)
		}
	}
}
