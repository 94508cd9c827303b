package environment

import (
	"os"
	"testing"

	"github.com/slipway-sh/slipway/test/devcloud/operator"
)

// project is an environment on the devcloud.
type project struct{ *operator.Operator }

// newProject writes the file without a management cluster: nothing boots here.
func newProject(t *testing.T) *project {
	t.Helper()
	dir, bundle := os.Getenv("SLIPWAY_DEVCLOUD"), os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" || bundle == "" {
		t.Skip("SLIPWAY_DEVCLOUD names no devcloud, or SLIPWAY_BUNDLE no bundle: run make devcloud-test")
	}
	p := &project{operator.New(t, dir, bundle)}
	p.InitSeed("real")
	return p
}
