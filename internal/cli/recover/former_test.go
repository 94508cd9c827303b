package recover

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// runtime has one cluster, or none; what the test does not expect would panic.
type runtime struct {
	localseed.Provider
	there   *localseed.Cluster
	deleted []string
}

func (r *runtime) Find(context.Context, string) (*localseed.Cluster, error) { return r.there, nil }

func (r *runtime) Delete(_ context.Context, name string) error {
	r.there, r.deleted = nil, append(r.deleted, name)
	return nil
}

// TestALeftoverSeedIsForgotten before a rebuild makes another one: only the environment's own,
// and without a look at the machine if the seed is a server.
func TestALeftoverSeedIsForgotten(t *testing.T) {
	t.Parallel()
	of := localseed.Settings{Name: "slipway-demo", Owner: "demo@1"}
	for name, test := range map[string]struct {
		provider string
		there    *localseed.Cluster
		deleted  int
		refused  bool
	}{
		"its own":               {"kind", &localseed.Cluster{Owner: "demo@1", Finished: true}, 1, false},
		"its own, half made":    {"kind", &localseed.Cluster{Owner: "demo@1"}, 1, false},
		"none":                  {"kind", nil, 0, false},
		"another environment's": {"kind", &localseed.Cluster{Owner: "demo@2", Finished: true}, 0, true},
		"of a seed server":      {"openstack", &localseed.Cluster{Owner: "demo@1", Finished: true}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "slipway.yaml")
			text := "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: demo}\nspec: {cloud: c, seed: {provider: " + test.provider + "}, managementCluster: {}}\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			loaded, err := config.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			have := &runtime{there: test.there}
			open := func(context.Context) (localseed.Provider, error) {
				if test.provider == "openstack" {
					return nil, errors.New("this machine has no runtime")
				}
				return have, nil
			}
			r := &rebuild{t: &target.Target{Loaded: loaded, Seeds: &kubernetes.LocalSeeds{Provider: open, Dir: t.TempDir()}}}
			err = r.forgetLocalSeed(t.Context(), of)
			if (err != nil) != test.refused || len(have.deleted) != test.deleted {
				t.Errorf("%v, deleted %v", err, have.deleted)
			}
		})
	}
}
