package kubernetes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
)

// here is the login of an environment whose clusters this machine reaches without another.
func here() Login { return Login{Local: "{}"} }

func asJSON(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// withVelero is a bundle with the definitions of Velero.
func withVelero(t *testing.T) *bundle.Folder {
	t.Helper()
	folder := empty(t)
	digest, err := folder.Put(t.Context(), strings.NewReader(strings.ReplaceAll(clusterDefinition, "cluster", "thing")))
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Record(bundle.Item{Name: component.VeleroDefinitions, Kind: bundle.Binary, Version: "v1", Source: "test", License: "Apache-2.0", SHA256: digest.SHA256, Size: digest.Size}); err != nil {
		t.Fatal(err)
	}
	return folder
}

func empty(t *testing.T) *bundle.Folder {
	t.Helper()
	folder, err := bundle.Create(t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder
}
