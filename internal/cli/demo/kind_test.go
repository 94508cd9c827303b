package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-sh/slipway/internal/localseed"
)

// containers are a runtime with at most one cluster.
type containers struct {
	localseed.Provider
	cluster *localseed.Cluster
	deleted string
	fails   error
}

func (c *containers) Find(context.Context, string) (*localseed.Cluster, error) {
	return c.cluster, c.fails
}

func (c *containers) Delete(_ context.Context, name string) error {
	c.cluster, c.deleted = nil, name
	return nil
}

// TestTheSeedOfAnInterruptedDemoGoes with the demo; that of another environment stays.
func TestTheSeedOfAnInterruptedDemoGoes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mark    string
		there   containers
		deleted string
		ran     string
	}{
		"there never was one":   {"", containers{cluster: &localseed.Cluster{Owner: "demo@2", Finished: true}}, "", "sandbox"},
		"complete":              {"demo@1\n", containers{cluster: &localseed.Cluster{Owner: "demo@1", Finished: true}}, "slipway-demo", "sandbox"},
		"half made":             {"demo@1\n", containers{cluster: &localseed.Cluster{}}, "slipway-demo", "sandbox"},
		"of another name":       {"trial@1\n", containers{cluster: &localseed.Cluster{Owner: "trial@1"}}, "slipway-trial", "sandbox"},
		"gone":                  {"demo@1\n", containers{}, "", "sandbox"},
		"another environment's": {"demo@1\n", containers{cluster: &localseed.Cluster{Owner: "demo@2"}}, "", "sandbox"},
		"nobody can say":        {"demo@1\n", containers{fails: errors.New("no daemon")}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, r, there := demo(t), &recorder{}, test.there
			o.down, o.seeds = true, func(context.Context) (localseed.Provider, error) { return &there, nil }
			if err := os.MkdirAll(filepath.Join(o.dir, ".slipway"), 0o700); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{marker: "a demo", ownerFile: test.mark} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(o.dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			said, err := o.try(t, r, "")
			if !errors.Is(err, test.there.fails) || there.deleted != test.deleted || r.verbs() != test.ran {
				t.Errorf("%v, deleted %q, ran %q\n%s", err, there.deleted, r.verbs(), said)
			}
			if _, err := os.Stat(o.dir); (err != nil) != (test.ran != "") {
				t.Errorf("the folder: %v", err)
			}
		})
	}
}
