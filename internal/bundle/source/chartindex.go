package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/slipway-sh/slipway/internal/charts"
	"github.com/slipway-sh/slipway/internal/component"
)

// indexName is the intermediate result that the index of the charts is.
const indexName = "chart-index"

// chartIndex tells which file of the image's folder is which chart of which
// repository, for the addon provider.
type chartIndex struct {
	plain
	Charts []string
}

func (c chartIndex) needs() []string { return c.Charts }

func (c chartIndex) make(_ context.Context, j *job) (output, error) {
	index := charts.Index{}
	for _, name := range c.Charts {
		entry, err := entryOf(name, j.input(name))
		if err != nil {
			return output{}, fmt.Errorf("chart %s: %w", name, err)
		}
		index.Charts = append(index.Charts, entry)
	}
	text, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return output{}, err
	}
	return output{file: j.path(charts.IndexFile)}, os.WriteFile(j.path(charts.IndexFile), text, 0o644)
}

// entryOf reads name and version out of the archive: a chart's version is often
// another than that of what it installs.
func entryOf(name, file string) (charts.Entry, error) {
	c, _ := component.Find(name)
	from, ok := c.Upstream()
	if !ok || from.Repository == "" {
		return charts.Entry{}, errors.New("no repository publishes it")
	}
	chart, err := loader.LoadFile(file)
	if err != nil {
		return charts.Entry{}, err
	}
	digest, err := copyHashed(io.Discard, file)
	return charts.Entry{Repository: from.Repository, Name: chart.Name(), Version: chart.Metadata.Version, File: path.Base(c.Path), Digest: "sha256:" + digest}, err
}
