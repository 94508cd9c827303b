package magnumdb

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
)

// The files of other tests.
const (
	dumps   = "../../addons/magnum/moving/database/testdata"
	answers = "../moving/testdata/magnum-api.json"
)

const (
	shop   = "3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11"
	newest = "b3e1cf4a2d5e"
)

// paths are what the API is asked for.
func paths() []string {
	const cluster = "/v1/clusters/6c9f3a52-5c0e-4b9f-9a5c-000000000001"
	return []string{"/v1/clustertemplates", "/v1/clusters", "/v1/clusters/detail", cluster, cluster + "/nodegroups",
		cluster + "/nodegroups/default-master", cluster + "/nodegroups/gpu_1", "/v1/clusters/old-heat", "/v1/clusters/old-heat/nodegroups/default-worker",
		"/v1/quotas/" + shop + "/Cluster"}
}

// TestSchemas reads every schema from both servers by URL and from their dumps, and
// has the API answer. With SLIPWAY_UPDATE=1 the files are written anew.
func TestSchemas(t *testing.T) {
	r := start(t)
	for _, s := range r.servers() {
		revisions := []string{"7da8489d6a68", "c0f832afc4fd", "d7e6a4d39fe4", newest}
		if s.name == "postgresql" {
			revisions = revisions[3:] // see fromModels
		}
		for _, revision := range revisions {
			s.make("magnum_"+revision, revision)
			read := live(t, s, "magnum_"+revision)
			text := s.dump("magnum_" + revision)
			name := s.name + "-" + revision + ".sql"
			if diff := cmp.Diff(read, parse(t, name, text)); diff != "" {
				t.Errorf("%s: the server (-) and its dump (+) differ:\n%s", name, diff)
			}
			if len(read.Clusters) != 7 || read.Revision != revision {
				t.Errorf("%s: %d clusters, revision %s", name, len(read.Clusters), read.Revision)
			}
			keep(t, filepath.Join(dumps, name), text, func(kept string) {
				want := parse(t, name, kept)
				want.KeyPairs, read.KeyPairs = nil, nil // made anew each time
				if diff := cmp.Diff(want, read); diff != "" {
					t.Errorf("%s is not what Magnum makes:\n%s", name, diff)
				}
			})
		}
		said := r.run(append([]string{"python3", r.script("ask.py"), s.url("magnum_" + newest), shop}, paths()...)...)
		keep(t, answers, said, func(kept string) {
			if diff := cmp.Diff(kept, said); diff != "" {
				t.Errorf("magnum-api on %s answers otherwise than %s says:\n%s", s.name, answers, diff)
			}
		})
	}
}

// keep writes a file on request, and otherwise compares it.
func keep(t *testing.T, file, text string, compare func(kept string)) {
	t.Helper()
	if os.Getenv("SLIPWAY_UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	compare(string(kept))
}

func parse(t *testing.T, name, text string) *database.Database {
	t.Helper()
	d, err := database.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// live reads a running server by the line of magnum.conf.
func live(t *testing.T, s server, name string) *database.Database {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "magnum.conf")
	if err := os.WriteFile(conf, []byte("[database]\nconnection = "+s.url(name)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := database.Find(conf)
	if err != nil {
		t.Fatal(err)
	}
	d, err := source.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}
