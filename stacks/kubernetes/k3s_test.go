package kubernetes

import (
	"context"
	"errors"
	"strings"
	"testing"

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

// Why a server does not know the key only its console tells.
func TestAFailedLoginTellsWhatTheConsoleSays(t *testing.T) {
	t.Parallel()
	refused := errors.New("unable to authenticate")
	for printed, want := range map[string]string{
		"Debian GNU/Linux 12 login:": "unable to authenticate",
		"url_helper.py[WARNING]: Calling 'http://169.254.169.254/openstack' failed [119/120s]: timed out": "unable to authenticate; its console says: url_helper.py[WARNING]: Calling 'http://169.254.169.254/openstack' failed",
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
