package kubernetes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/internal/fault"
)

// The objects of a seed stay when its server is replaced, so that its k3s can go
// only where Kubernetes can.
func TestVersionsThatASeedCannotGoTo(t *testing.T) {
	t.Parallel()
	for release, refused := range map[string]string{
		"": "", "v1.34.1+k3s1": "", "v1.34.2+k3s2": "", "v1.35.0+k3s1": "",
		"v1.33.9+k3s1": "cannot be downgraded", "v1.36.0+k3s1": "cannot skip",
	} {
		state := K3sState{K3sInputs: K3sInputs{Node: "demo-seed"}, Version: "v1.34.1+k3s1"}
		in := state.K3sInputs
		in.Release = release
		c := &k3s{controller[K3sInputs, K3sState]{k3sKind{}}}
		got, err := c.Diff(t.Context(), infer.DiffRequest[K3sInputs, K3sState]{State: state, Inputs: in})
		if refused == "" {
			if err != nil || got.HasChanges != (release != "") {
				t.Errorf("%q: changes %v, %v", release, got.HasChanges, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), refused) || fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
			t.Errorf("%q: %v", release, err)
		}
	}
}

// TestAnotherHostKeyIsExplained by the end of the boot, which a machine without metadata reaches
// a while after its SSH answers. A cloud without consoles costs no time, nor does a machine that
// says nothing of the kind cost more than a minute.
func TestAnotherHostKeyIsExplained(t *testing.T) {
	t.Parallel()
	mismatch := errors.New("ssh: handshake failed: ssh: host key mismatch")
	for name, test := range map[string]struct {
		console func(since time.Duration) string
		takes   time.Duration
		fix     string
	}{
		"no metadata": {func(since time.Duration) string {
			if since < 11*time.Second {
				return "Started getty@tty1.service"
			}
			return "cc_final_message.py[WARNING]: Used fallback datasource"
		}, 12 * time.Second, "openstack server reboot --hard 4711"},
		"no consoles":    {func(time.Duration) string { return "" }, 0, ""},
		"another server": {func(time.Duration) string { return "Debian GNU/Linux 12 login:" }, consoleTime, ""},
		"interrupted":    {func(time.Duration) string { return "Debian GNU/Linux 12 login:" }, 5 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				k := k3sKind{console: func(context.Context, string) string { return test.console(time.Since(begun)) }}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if name == "interrupted" {
					time.AfterFunc(test.takes, stop)
				}
				err := k.hear(ctx, K3sInputs{ServerID: "4711"}, mismatch)
				if took := time.Since(begun); took != test.takes || !errors.Is(err, mismatch) || !strings.Contains(fault.Remedy(err), test.fix) || (test.fix == "") != (fault.Remedy(err) == "") {
					t.Errorf("after %s: %v (%s)", took, err, fault.Remedy(err))
				}
			})
		})
	}
}

// Why a server does not know the key only its console tells.
func TestAFailedLoginTellsWhatTheConsoleSays(t *testing.T) {
	t.Parallel()
	refused := errors.New("unable to authenticate")
	for printed, want := range map[string]string{
		"Debian GNU/Linux 12 login:": "unable to authenticate",
		"url_helper.py[WARNING]: Calling 'http://169.254.169.254/openstack' failed [119/120s]: timed out": "did not get them from the cloud's metadata service; its console says: url_helper.py[WARNING]: Calling 'http://169.254.169.254/openstack' failed",
		"Kernel panic - not syncing: VFS": "its console says: Kernel panic - not syncing: VFS",
	} {
		asked := ""
		k := k3sKind{console: func(_ context.Context, id string) string { asked = id; return printed }}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		err := k.hear(ended, K3sInputs{ServerID: "4711"}, refused)
		if !errors.Is(err, refused) || !strings.Contains(err.Error(), want) || asked != "4711" {
			t.Errorf("console of %s %q: %v", asked, printed, err)
		}
		if told := strings.Contains(err.Error(), "console"); told != (fault.Remedy(err) != "") {
			t.Errorf("%q: the remedy is %q", printed, fault.Remedy(err))
		}
	}
}
