package contract_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// member returns clients of the cloud under test, as a member of a project.
func member(t *testing.T) sandboxtest.Clients {
	t.Helper()
	return login(t, os.Getenv("OS_CLOUD"))
}

// admin returns clients of the cloud under test, as its administrator.
func admin(t *testing.T) sandboxtest.Clients {
	t.Helper()
	name := os.Getenv("OS_ADMIN_CLOUD")
	if name == "" {
		name = os.Getenv("OS_CLOUD") + "-admin"
	}
	return login(t, name)
}

func login(t *testing.T, cloud string) sandboxtest.Clients {
	t.Helper()
	auth, endpoint, tls, err := clouds.Parse(clouds.WithCloudName(cloud))
	if err != nil {
		t.Fatalf("reading cloud %s: %v", cloud, err)
	}
	provider, err := config.NewProviderClient(t.Context(), auth, config.WithTLSConfig(tls))
	if err != nil {
		t.Fatalf("logging in to %s: %v", cloud, err)
	}
	return sandboxtest.NewClients(provider, endpoint)
}

// unique returns a name that no other test uses.
func unique(t *testing.T) string {
	t.Helper()
	return "contract-" + strings.ToLower(rand.Text()[:10])
}

// must ends the test on an error.
func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// wantStatus checks that a call was answered with an error status.
func wantStatus(t *testing.T, err error, status int) {
	t.Helper()
	if !gophercloud.ResponseCodeIs(err, status) {
		t.Errorf("got %v, want status %d", err, status)
	}
}

// eventually polls until the condition holds, for at most a minute.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(longest()); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("timed out waiting: %s", what)
}

// longest is how long a state may take. A virtual machine whose guest does not listen to
// its power button is given a minute, as Nova's shutdown_timeout is.
func longest() time.Duration {
	if os.Getenv(driverVariable) != "" {
		return 3 * time.Minute
	}
	return time.Minute
}

// answer is what a call without a client library got.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	text   string
}

// raw calls a URL with a body as it is; token may be empty, header may be nil.
func raw(t *testing.T, method, url, token, body string, header map[string]string) answer {
	t.Helper()
	request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body)))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response := must[*http.Response](t)(http.DefaultClient.Do(request))
	defer response.Body.Close()
	text := must[[]byte](t)(io.ReadAll(response.Body))
	a := answer{status: response.StatusCode, header: response.Header, text: string(text)}
	_ = json.Unmarshal(text, &a.body) // some answers are no JSON
	return a
}

// at returns the value at a path of keys in a JSON object, nil if it ends
// before.
func (a answer) at(path ...string) any {
	var value any = a.body
	for _, key := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}
