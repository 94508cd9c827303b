package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/component"
)

// indexLimit bounds the index of a Helm repository.
const indexLimit = 64 << 20

// chartIndex is the part of a Helm repository's index.yaml that matters here.
type chartIndex struct {
	Entries map[string][]chartVersion `json:"entries"`
}

type chartVersion struct {
	Version    string   `json:"version"`
	AppVersion string   `json:"appVersion"`
	URLs       []string `json:"urls"`
	Digest     string   `json:"digest"`
}

// findChart returns the URL of the newest chart for an application's version,
// and the digest that the index states, if any. The index lists newest first.
func (p *puller) findChart(ctx context.Context, version string, from component.Upstream, t *tally) (where, digest string, err error) {
	var index chartIndex
	err = p.retry(ctx, t.wait, func() (int64, error) {
		text, err := p.readIndex(ctx, p.mirrors.file(from.Repository+"/index.yaml"))
		if err != nil {
			return 0, bare(err)
		}
		return 0, yaml.Unmarshal(text, &index)
	})
	if err != nil {
		return "", "", fmt.Errorf("reading the chart index: %w", err)
	}
	for _, chart := range index.Entries[from.Chart] {
		if !chart.fits(version) || len(chart.URLs) == 0 {
			continue
		}
		base, err := url.Parse(from.Repository + "/")
		if err != nil {
			return "", "", err
		}
		u, err := base.Parse(chart.URLs[0])
		if err != nil {
			return "", "", err
		}
		return u.String(), strings.TrimPrefix(chart.Digest, "sha256:"), nil
	}
	return "", "", &memberError{fmt.Sprintf("the repository has no chart %s for %s", from.Chart, version)}
}

// fits reports whether a chart deploys that version. Charts write it with or
// without "v", and pre-releases of charts are left out.
func (c chartVersion) fits(version string) bool {
	plain := func(v string) string { return strings.TrimPrefix(v, "v") }
	return plain(c.AppVersion) == plain(version) && !strings.Contains(c.Version, "-")
}

func (p *puller) readIndex(ctx context.Context, url string) ([]byte, error) {
	req, err := p.get(ctx, url)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &statusError{code: resp.StatusCode}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, indexLimit+1))
	if err == nil && len(text) > indexLimit {
		err = &sizeError{"the chart index", indexLimit + 1, indexLimit}
	}
	return text, err
}
