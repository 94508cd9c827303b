package serve

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

func TestConsoleWrongFlags(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(short, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{"console", "--keystone", "https://cloud.example:5000"}
	for name, test := range map[string]struct {
		args  []string
		wants []string
	}{
		"no Keystone":           {[]string{"--keystone", ""}, []string{"--keystone"}},
		"two at once":           {[]string{"--keystone", "cloud.example", "--magnum", "ftp://x"}, []string{"--keystone", "--magnum"}},
		"a path":                {[]string{"--public-endpoint", "https://clusters.example/console"}, []string{"--public-endpoint"}},
		"an interface":          {[]string{"--interface", "private"}, []string{"--interface"}},
		"half of TLS":           {[]string{"--tls-cert", "x"}, []string{"--tls-cert and --tls-key"}},
		"no CA":                 {[]string{"--cloud-ca", "/nonexistent"}, []string{"--cloud-ca"}},
		"a CA that is none":     {[]string{"--cloud-ca", empty}, []string{"--cloud-ca"}},
		"a time":                {[]string{"--cloud-timeout", "0s"}, []string{"--cloud-timeout"}},
		"no key":                {[]string{"--session-key", "/nonexistent"}, []string{"--session-key"}},
		"a short key":           {[]string{"--session-key", short}, []string{"--session-key"}},
		"sign-in without HTTPS": {[]string{"--websso", "a=openid", "--public-endpoint", "http://clusters.example"}, []string{"--websso"}},
		"sign-in without a URL": {[]string{"--websso", "a=openid"}, []string{"--websso"}},
		"sign-in by a path":     {[]string{"--websso", "a=../x", "--public-endpoint", "https://clusters.example"}, []string{"--websso a=../x"}},
		"Keystone for browsers": {[]string{"--websso-keystone", "cloud"}, []string{"--websso-keystone"}},
		"a level of the log":    {[]string{"--log-level", "loud"}, []string{"--log-level"}},
		"a certificate's file":  {[]string{"--listen", "127.0.0.1:0", "--tls-cert", empty, "--tls-key", empty}, []string{"--tls-cert and --tls-key"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, append(append([]string{}, good...), test.args...)...)
			for _, want := range test.wants {
				if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), want) || fault.Remedy(fault.All(err)[0]) == "" {
					t.Errorf("error %v, exit code %d; want %q", err, fault.ExitCode(err), want)
				}
			}
		})
	}
}

// TestConsoleServing: it needs no cluster and no cloud to start, and ends by itself.
func TestConsoleServing(t *testing.T) {
	t.Parallel()
	address, log := freeAddress(t), &syncBuffer{}
	cmd := New(ui.Streams{Err: log, Out: io.Discard})
	cmd.SetArgs([]string{"console", "--keystone", "http://127.0.0.1:1", "--listen", address, "--drain-time", "10ms"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	eventually(t, "a console that is ready", func() bool {
		status, _ := get("http://" + address + "/healthcheck")
		return status == http.StatusOK
	})
	if status, body := get("http://" + address + "/clusters"); status != http.StatusUnauthorized || !strings.Contains(body, "Sign in") {
		t.Errorf("without a session: %d\n%s", status, body)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v\n%s", err, log.String())
	}
}
