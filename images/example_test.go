package images

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/config"
)

func TestExampleManifestIsRight(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "examples", "images.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(config.Source{Name: path, Text: text})
	if err != nil || len(m.Spec.Images) == 0 || m.Spec.Images[0].Bundle != "node" {
		t.Errorf("manifest %+v (%v)", m, err)
	}
}
