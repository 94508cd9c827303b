package proposal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/component"
)

// shelf is a registry whose bundles have a version of Kubernetes.
type shelf map[string]string

func (s shelf) Tags(_ context.Context, repository string) (tags []string, err error) {
	for key := range s {
		if rest, ok := strings.CutPrefix(key, repository+":"); ok {
			tags = append(tags, rest)
		}
	}
	slices.Sort(tags)
	slices.Reverse(tags)
	return tags, nil
}

func (s shelf) Bundle(_ context.Context, repository, tag string) (Release, error) {
	kubernetes, ok := s[repository+":"+tag]
	if !ok {
		return Release{}, errors.New("no " + tag)
	}
	v := component.DefaultVersions()
	v.Kubernetes = kubernetes
	return Release{Digest: "sha256:" + tag, Versions: v}, nil
}

func (s shelf) Image(_ context.Context, repository, tag string) (Release, error) {
	return Release{Digest: "sha256:image-" + tag}, nil
}

// TestANewerVersionIsOneStepAway: what an upgrade refuses is not proposed, and everything
// else follows the bundle.
func TestANewerVersionIsOneStepAway(t *testing.T) {
	t.Parallel()
	registry := shelf{"r/b:v0.1.0": "v1.33.5", "r/b:v0.2.0": "v1.34.4", "r/b:v0.3.0": "v1.35.1", "r/b:v0.4.0-rc.1": "v1.35.1", "r/s:v0.1.0": "", "r/s:v0.2.0": "", "r/s:v0.3.0": ""}
	pin := func(kind Kind, repository, version string) Pin {
		return Pin{Kind: kind, File: "f", Line: 1, Repository: repository, Version: version}
	}
	withDigest := pin(Bundle, "r/b", "v0.2.0")
	withDigest.Digest = "sha256:old"
	kubernetes := func(version string) Pin { return pin(Kubernetes, "", version) }
	for name, test := range map[string]struct {
		pins  []Pin
		want  []string
		notes int
	}{
		"a step further":          {[]Pin{pin(Bundle, "r/b", "v0.1.0")}, []string{"r/b v0.2.0 "}, 1},
		"the newest":              {[]Pin{withDigest}, []string{"r/b v0.3.0 sha256:v0.3.0"}, 0},
		"nothing newer":           {[]Pin{pin(Bundle, "r/b", "v0.3.0")}, nil, 0},
		"from one pre-release on": {[]Pin{pin(Bundle, "r/b", "v0.4.0-rc.1")}, nil, 0},
		"all follow": {[]Pin{kubernetes("v1.33.5"), pin(Image, "r/s", "v0.1.0"), pin(Bundle, "r/b", "v0.1.0")},
			[]string{" v1.34.4 ", "r/b v0.2.0 ", "r/s v0.2.0 "}, 1},
		"Kubernetes of the lowest bundle": {[]Pin{pin(Bundle, "r/b", "v0.2.0"), pin(Bundle, "r/b", "v0.1.0"), kubernetes("v1.34.4")},
			[]string{"r/b v0.2.0 ", "r/b v0.3.0 "}, 1},
		"Kubernetes alone":       {[]Pin{kubernetes("v1.34.0")}, []string{" " + component.KubernetesVersion + " "}, 0},
		"too far":                {[]Pin{kubernetes("v1.30.0")}, nil, 1},
		"newer than we know":     {[]Pin{kubernetes("v1.99.0")}, nil, 0},
		"an image alone":         {[]Pin{pin(Image, "r/s", "v0.1.0")}, []string{"r/s v0.3.0 "}, 0},
		"an image that is ahead": {[]Pin{pin(Image, "r/s", "v0.3.0"), pin(Bundle, "r/b", "v0.1.0")}, []string{"r/b v0.2.0 "}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Choose(t.Context(), test.pins, registry)
			var got []string
			for _, c := range p.Changes {
				got = append(got, c.Repository+" "+c.To+" "+c.ToDigest)
			}
			slices.Sort(got)
			if err != nil || !slices.Equal(got, test.want) || len(p.Notes) != test.notes {
				t.Errorf("%v: %q, want %q; notes %q", err, got, test.want, p.Notes)
			}
		})
	}
	if _, err := Choose(t.Context(), []Pin{pin(Bundle, "r/b", "v0.0.9")}, registry); err == nil {
		t.Error("a release that is gone is no error")
	}
	missing := shelf{"r/b:v0.1.0": "v1.34.4", "r/b:v0.2.0": "v1.34.4", "r/s:v0.1.0": "", "r/s:v0.1.1": ""}
	p, err := Choose(t.Context(), []Pin{pin(Bundle, "r/b", "v0.1.0"), pin(Image, "r/s", "v0.1.0")}, missing)
	if err != nil || len(p.Changes) != 1 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "r/s has no v0.2.0") {
		t.Errorf("an image that was not published: %+v, %v", p, err)
	}
}
