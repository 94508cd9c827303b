package proposal

import (
	"slices"
	"strings"
	"testing"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestPinsAreFoundWhereTheyAre and nothing that only looks like one.
func TestPinsAreFoundWhereTheyAre(t *testing.T) {
	t.Parallel()
	environment := "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nspec:\n  managementCluster:\n    kubernetesVersion: \"v1.33.5\" # pinned\n"
	for name, test := range map[string]struct {
		file, text string
		want       []string
	}{
		"a pipeline": {"ci.yml", "image: registry.example.org/slipway:v0.1.0\nscript: [slipway bundle pull oci://registry.example.org:5000/slipway/bundle:v0.1.0-rc.1 --key k]\n",
			[]string{"bundle 2 registry.example.org:5000/slipway/bundle v0.1.0-rc.1 ", "image 1 registry.example.org/slipway v0.1.0 "}},
		"a digest":               {"Makefile", "pull: ; slipway bundle pull oci://localhost:5000/b:v1.2.3@" + digest, []string{"bundle 1 localhost:5000/b v1.2.3 " + digest}},
		"no version":             {"ci.yml", "image: registry.example.org/slipway:latest\n# oci://registry.example.org/slipway/bundle:latest", nil},
		"a longer name":          {"ci.yml", "image: old.registry.example.org/slipway:v0.1.0\nother: registry.example.org/slipway/bundle:v0.1.0", nil},
		"an environment":         {"slipway.yaml", environment, []string{"kubernetes 5  v1.33.5 "}},
		"a layer":                {"environments/x.yml", "# ä\nspec: {managementCluster: {kubernetesVersion: v1.33.5}}", []string{"kubernetes 2  v1.33.5 "}},
		"the second document":    {"all.yaml", "kind: Other\n---\n" + environment, []string{"kubernetes 7  v1.33.5 "}},
		"an image manifest":      {"images.yaml", "apiVersion: slipway.sh/v1alpha1\nkind: Images\nspec: {managementCluster: {kubernetesVersion: v1.33.5}}", nil},
		"a cluster's values":     {"values.yaml", "kubernetesVersion: v1.33.5\n", nil},
		"a minor version only":   {"slipway.yaml", "spec: {managementCluster: {kubernetesVersion: \"1.33\"}}", nil},
		"an alias":               {"slipway.yaml", "x: &v v1.33.5\nspec: {managementCluster: {kubernetesVersion: *v}}", nil},
		"a template":             {"slipway.yaml", "spec: {{ if }}\n", nil},
		"a page that tells both": {"README.md", "kubernetesVersion: v1.33.5 and oci://a.example.org/b:v1.0.0.", []string{"bundle 1 a.example.org/b v1.0.0 "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range Find(test.file, []byte(test.text), []string{"registry.example.org/slipway"}) {
				got = append(got, strings.Join([]string{string(p.Kind), string(rune('0' + p.Line)), p.Repository, p.Version, p.Digest}, " "))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// TestOnlyVersionsChange: comments, quotes and what is between stay.
func TestOnlyVersionsChange(t *testing.T) {
	t.Parallel()
	const before = "a: oci://r.example.org/b:v1.0.0@" + digest + " # here\nspec: {managementCluster: {kubernetesVersion: 'v1.33.5' }}\nc: oci://r.example.org/b:v1.0.0\n"
	other := strings.Replace(digest, "0", "f", 1)
	var changes []Change
	for _, p := range Find("x.yaml", []byte(before), nil) {
		c := Change{Pin: p, To: "v1.10.0"}
		if p.Digest != "" {
			c.ToDigest = other
		}
		changes = append([]Change{c}, changes...) // in no order
	}
	want := strings.NewReplacer("v1.0.0", "v1.10.0", "v1.33.5", "v1.10.0", digest, other).Replace(before)
	if got := string(Apply([]byte(before), changes)); len(changes) != 3 || got != want {
		t.Errorf("%d changes:\n%s\nwant\n%s", len(changes), got, want)
	}
}
