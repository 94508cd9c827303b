package sandbox_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func TestRestartKeepsState(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	made, err := projects.Create(t.Context(), cloud.Admin.Identity(t), projects.CreateOpts{Name: "kept"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	token := cloud.Admin.Provider.Token()
	cloud.Restart(t)
	client := cloud.Admin.Identity(t)
	got, err := projects.Get(t.Context(), client, made.ID).Extract()
	if err != nil || got.Name != "kept" {
		t.Fatalf("after a restart: %v, %v", got, err)
	}
	client.SetToken(token)
	if _, err := projects.Get(t.Context(), client, made.ID).Extract(); err != nil {
		t.Errorf("a token from before the restart: %v", err)
	}
}

// Whoever reads the state file cannot log in with what is in it.
func TestStateHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cloud := sandboxtest.Start(t, func(o *sandbox.Options) { o.Dir = dir })
	client := cloud.Member.Identity(t)
	me, err := users.List(cloud.Admin.Identity(t), users.ListOpts{Name: "demo"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := users.ExtractUsers(me)
	if err != nil || len(found) != 1 {
		t.Fatalf("users: %v, %v", found, err)
	}
	cred, err := applicationcredentials.Create(t.Context(), client, found[0].ID, applicationcredentials.CreateOpts{Name: "a"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ec2credentials.Create(t.Context(), client, found[0].ID, ec2credentials.CreateOpts{TenantID: cred.ProjectID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	state, err := os.ReadFile(filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(state, []byte(cred.ID)) {
		t.Fatal("the state file does not hold the credential at all")
	}
	for name, secret := range map[string]string{
		"token": cloud.Member.Provider.Token(), "password": cloud.Passwords().Demo, "password of admin": cloud.Passwords().Admin,
		"application credential": cred.Secret, "EC2 secret": pair.Secret,
	} {
		if bytes.Contains(state, []byte(secret)) {
			t.Errorf("the state file holds the %s in clear", name)
		}
	}
	for _, name := range []string{"state.db", "secrets.json", "clouds.yaml"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestTokensEnd(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakeClock(time.Now())
	cloud := sandboxtest.Start(t, func(o *sandbox.Options) { o.Clock, o.TokenLife = clock, 2*time.Hour })
	client := cloud.Admin.Identity(t)
	client.ReauthFunc = nil
	clock.Step(2*time.Hour - time.Second)
	if _, err := projects.List(client, nil).AllPages(t.Context()); err != nil {
		t.Errorf("before its time is over a token got %v", err)
	}
	clock.Step(time.Second)
	if _, err := projects.List(client, nil).AllPages(t.Context()); !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
		t.Errorf("after its time a token got %v", err)
	}
}

// Clients log in again when their token ends, here because a rule says so.
func TestClientsLogInAgain(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Admin.Identity(t)
	if _, err := cloud.Faults.Add(faultinject.Rule{Kind: faultinject.TokenExpiry, Resource: "admin", Times: 1}); err != nil {
		t.Fatal(err)
	}
	before := client.Token()
	if _, err := projects.List(client, nil).AllPages(t.Context()); err != nil {
		t.Fatal(err)
	}
	if client.Token() == before {
		t.Error("the client did not log in again")
	}
}

func TestLinksNameTheHostThatWasAsked(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cloud.URL()+"/identity/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "cloud.example.org:5000"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil || !strings.Contains(text.String(), "http://cloud.example.org:5000/identity/v3/") {
		t.Errorf("%v: %s", err, text.String())
	}
}

func TestControlNeedsItsSecret(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	response, err := http.Get(cloud.URL() + "/-/status")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the secret: %s", response.Status)
	}
	control, err := sandbox.NewControl(filepath.Dir(cloud.CloudsYAML()), cloud.URL())
	if err != nil {
		t.Fatal(err)
	}
	if s, err := control.Status(t.Context()); err != nil || s.PID != os.Getpid() || s.Driver != "none" {
		t.Errorf("status: %+v, %v", s, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	running := t.TempDir()
	sandboxtest.Start(t, func(o *sandbox.Options) { o.Dir = running })
	for name, o := range map[string]sandbox.Options{
		"a folder with other things": {Dir: foreign, Listen: "127.0.0.1:0"},
		"the folder of another":      {Dir: running, Listen: "127.0.0.1:0"},
		"all addresses":              {Dir: t.TempDir(), Listen: ":0"},
		"no address":                 {Dir: t.TempDir(), Listen: "nowhere"},
	} {
		if cloud, err := sandbox.Open(o); err == nil {
			t.Errorf("%s: it opened", name)
			_ = cloud.Close()
		}
	}
}

func TestServeEndsItsWork(t *testing.T) {
	t.Parallel()
	cloud, err := sandbox.Open(sandbox.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", HashCost: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cloud.Serve(ctx) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Serve did not return")
	}
}
