package bundle

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/ui"
)

// TestWhatAnotherSlipwayBuiltIsFound also in a bundle that lacks items, as after an upgrade of the
// program: those are built, and then the others.
func TestWhatAnotherSlipwayBuiltIsFound(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"rebuilt": true, "told": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			folder, err := bundle.Create(dir, source.Platform())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range component.All() {
				if c.Name == "kubelet" {
					continue
				}
				item := bundle.Item{Name: c.Name, Kind: bundle.Manifest, Version: "v1", License: "Apache-2.0", Source: "test", SHA256: strings.Repeat("1", 64), Size: 1}
				if c.Name == component.SlipwayImage {
					item.Source = "slipway binary sha256:" + strings.Repeat("2", 64)
				}
				if err := folder.Record(item); err != nil {
					t.Fatal(err)
				}
			}
			if err := folder.Close(); err != nil {
				t.Fatal(err)
			}
			var built []string
			out := &bytes.Buffer{}
			o := ensureOptions{dir: dir, progress: "plain", own: own, probe: "http://127.0.0.1:1", build: func(_ context.Context, _ ui.Streams, items []string) error {
				built = append(built, items...)
				return nil
			}}
			if err := o.run(t.Context(), ui.Streams{In: strings.NewReader(""), Out: out, Err: out}); err != nil {
				t.Fatal(err)
			}
			want := []string{"kubelet"}
			if own {
				want = append(want, component.SlipwayImage)
			}
			if told := strings.Contains(out.String(), "the controllers of another slipway binary"); !slices.Equal(built, want) || told == own {
				t.Errorf("built %q, want %q; it said\n%s", built, want, out)
			}
		})
	}
}
