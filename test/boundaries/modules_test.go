package boundaries

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/modfile"
)

// Two versions of a module compile it, and all that imports it, twice. `make verify` compiles
// this one right after the product, and has Kubernetes' libraries from there.
func TestGuestsSelectTheVersionsOfTheProduct(t *testing.T) {
	t.Parallel()
	product := selected(t, "go.mod")
	shared := 0
	for path, version := range selected(t, "test/devcloud/moving/guests/go.mod") {
		switch product[path] {
		case "":
		case version:
			shared++
		default:
			t.Errorf("go.mod has %s %s, guests/go.mod %s: run go get %s@%s there", path, product[path], version, path, product[path])
		}
	}
	if shared == 0 {
		t.Error("they have no module in common")
	}
}

// selected are the versions that a go.mod names. Since Go 1.17 it names all that it selects.
func selected(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return versions
}
