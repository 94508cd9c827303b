package keymanager_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/acls"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

const payload = "correct-horse-battery-staple"

func store(t *testing.T, client *gophercloud.ServiceClient, o secrets.CreateOpts) string {
	t.Helper()
	secret, err := secrets.Create(t.Context(), client, o).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return path.Base(secret.SecretRef)
}

func wantStatus(t *testing.T, err error, status int) {
	t.Helper()
	if !gophercloud.ResponseCodeIs(err, status) {
		t.Errorf("got %v, want status %d", err, status)
	}
}

func read(t *testing.T, client *gophercloud.ServiceClient, id string) (string, error) {
	t.Helper()
	text, err := secrets.GetPayload(t.Context(), client, id, nil).Extract()
	return string(text), err
}

func TestPayloadIsEncryptedOnDisk(t *testing.T) {
	t.Parallel()
	var dir string
	cloud := sandboxtest.Start(t, func(o *sandbox.Options) { dir = o.Dir })
	id := store(t, cloud.Member.KeyManager(t), secrets.CreateOpts{Name: "kept", Payload: payload, PayloadContentType: "text/plain"})
	cloud.Restart(t)
	if text, err := read(t, cloud.Member.KeyManager(t), id); err != nil || text != payload {
		t.Errorf("after a restart: %q, %v", text, err)
	}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(payload)) || bytes.Contains(content, []byte("Y29ycmVjdC1ob3JzZS")) {
			t.Errorf("%s holds the payload", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range cloud.Events.Events() {
		if bytes.Contains([]byte(e.Message+e.Error), []byte(payload)) {
			t.Errorf("the payload was logged: %v", e)
		}
	}
}

func TestExpiredSecretIsGone(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	cloud := sandboxtest.Start(t, func(o *sandbox.Options) { o.Clock = clock })
	client := cloud.Member.KeyManager(t)
	end := clock.Now().Add(10 * time.Minute)
	id := store(t, client, secrets.CreateOpts{Payload: payload, PayloadContentType: "text/plain", Expiration: &end})
	if _, err := read(t, client, id); err != nil {
		t.Fatal(err)
	}
	clock.Step(11 * time.Minute)
	_, err := read(t, client, id)
	wantStatus(t, err, 404)
	_, err = secrets.Create(t.Context(), client, secrets.CreateOpts{Payload: payload, PayloadContentType: "text/plain", Expiration: &end}).Extract()
	wantStatus(t, err, 400)
}

func TestAccessList(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	owner, other := cloud.Member.KeyManager(t), cloud.Admin.KeyManager(t)
	id := store(t, owner, secrets.CreateOpts{Payload: payload, PayloadContentType: "text/plain"})
	stranger := newUser(t, cloud, "stranger", "member")
	_, err := read(t, stranger.KeyManager(t), id)
	wantStatus(t, err, 403)
	users := []string{userID(t, stranger)}
	if _, err := acls.SetSecretACL(t.Context(), owner, id, acls.SetOpts{{Type: "read", Users: &users}}).Extract(); err != nil {
		t.Fatal(err)
	}
	if text, err := read(t, stranger.KeyManager(t), id); err != nil || text != payload {
		t.Errorf("listed user: %q, %v", text, err)
	}
	wantStatus(t, secrets.Delete(t.Context(), stranger.KeyManager(t), id).ExtractErr(), 403)
	if _, err := read(t, other, id); err != nil {
		t.Errorf("administrator: %v", err)
	}
}

func TestReaderSeesNoPayload(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	id := store(t, cloud.Member.KeyManager(t), secrets.CreateOpts{Payload: payload, PayloadContentType: "text/plain"})
	reader := newUserOn(t, cloud, "reader", "reader", "demo").KeyManager(t)
	if _, err := secrets.Get(t.Context(), reader, id).Extract(); err != nil {
		t.Errorf("metadata: %v", err)
	}
	_, err := read(t, reader, id)
	wantStatus(t, err, 403)
	_, err = secrets.Create(t.Context(), reader, secrets.CreateOpts{Name: "no"}).Extract()
	wantStatus(t, err, 403)
}

func TestQuotaRule(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	if _, err := cloud.Faults.Add(faultinject.Rule{Kind: faultinject.Quota, Service: "key-manager", Resource: "secrets"}); err != nil {
		t.Fatal(err)
	}
	_, err := secrets.Create(t.Context(), cloud.Member.KeyManager(t), secrets.CreateOpts{Name: "over"}).Extract()
	wantStatus(t, err, 403)
}
