package devstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/charts"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

func newMissing(streams ui.Streams) *cobra.Command {
	return step("missing", "List what the bundle lacks",
		"Prints the items that the plugin needs and the bundle does not have, one per line.", "  slipway devstack missing",
		func(_ context.Context, s devstack.Settings) error {
			missing, err := s.Missing()
			if err != nil {
				return err
			}
			for _, name := range missing {
				if _, err := fmt.Fprintln(streams.Out, name); err != nil {
					return err
				}
			}
			return nil
		})
}

func newEquip(streams ui.Streams) *cobra.Command {
	return longStep(streams, "equip", "Check the bundle and copy from it what runs on the host",
		`Compares every byte of the bundle that is used with its digest, and copies k3s, container
images and charts into the plugin's folder. Nothing is fetched.`, "  slipway devstack equip",
		func(ctx context.Context, s devstack.Settings, progress event.Sink) error {
			if err := s.Equip(ctx, progress); err != nil {
				return err
			}
			return copyCharts(s)
		})
}

// copyCharts copies the bundle's charts with the index that the addon provider reads.
func copyCharts(s devstack.Settings) error {
	folder, err := bundle.Open(s.Bundle)
	if err != nil {
		return err
	}
	index := charts.Index{Charts: []charts.Entry{}}
	for _, c := range component.All() {
		from, ok := c.Upstream()
		if c.Kind != bundle.Chart || !ok || from.Repository == "" {
			continue
		}
		item := folder.Bill().Item(c.Name)
		data, err := os.ReadFile(folder.Blob(item.SHA256))
		if err != nil {
			return fmt.Errorf("copying chart %s: %w", c.Name, err)
		}
		chart, err := loader.LoadArchive(strings.NewReader(string(data)))
		if err != nil {
			return fmt.Errorf("reading chart %s: %w", c.Name, err)
		}
		file, sum := filepath.Base(c.Path), sha256.Sum256(data)
		if err := s.Write(filepath.Join("charts", file), string(data)); err != nil {
			return err
		}
		index.Charts = append(index.Charts, charts.Entry{Repository: from.Repository, Name: chart.Name(), Version: chart.Metadata.Version, File: file, Digest: "sha256:" + hex.EncodeToString(sum[:])})
	}
	text, err := json.MarshalIndent(index, "", "  ")
	return errors.Join(err, s.Write(filepath.Join("charts", charts.IndexFile), string(text)))
}
