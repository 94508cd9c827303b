package kubernetes

import (
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
