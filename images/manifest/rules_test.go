package manifest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// one is a list of our own form with one image, with what a case adds.
func one(rest string) string { return head + "  images: [{name: a, " + rest + "}]\n" }

// TestRulesOfImages: what just fits is read, and what just does not is told with its place.
func TestRulesOfImages(t *testing.T) {
	t.Parallel()
	long, longer := strings.Repeat("x", 255), strings.Repeat("x", 256)
	const site, signed = "url: https://example.org/a", "signature: {method: minisign, from: x, publicKey: k"
	for name, test := range map[string]struct{ image, path string }{
		"a long tag":                         {"file: a, tags: [" + long + "]", ""},
		"a tag too long":                     {"file: a, tags: [" + longer + "]", "tags[0]"},
		"an empty tag":                       {`file: a, tags: [b, ""]`, "tags[1]"},
		"a long property":                    {"file: a, properties: {" + long + ": " + long + "}", ""},
		"a name too long":                    {"file: a, properties: {" + longer + ": x}", "properties"},
		"a value too long":                   {"file: a, properties: {x: " + longer + "}", "properties[x]"},
		"no hours":                           {`file: a, properties: {hotfix_hours: "0"}`, ""},
		"a version in full":                  {"file: a, properties: {kube_version: v1.34.2}", ""},
		"a version that is not":              {`file: a, properties: {kube_version: "1.34"}`, "properties[kube_version]"},
		"a known property of any value":      {`file: a, properties: {hw_cpu_cores: "4"}`, ""},
		"one of Nova's that nothing is like": {"file: a, properties: {hw_of_our_own_vendor: x}", ""},
		"one of ours that looks like theirs": {"file: a, properties: {patchlevl: x}", ""},
		"raw of raw":                         {"file: a, format: raw, convert: raw", "convert"},
		"raw of qcow2":                       {"file: a, convert: raw", ""},
		"digests in a signed list":           {site + ", " + signed + ", checksums: y}", ""},
		"a signature of the image alone":     {site + ", " + signed + "}", "digest"},
		"a signed list for a file":           {"file: a, " + signed + ", checksums: y}", ""},
		"a signature for the bundle's":       {"bundle: a, " + signed + "}", ""},
		"a signed list for the bundle's":     {"bundle: a, " + signed + ", checksums: y}", "signature.checksums"},
		"a key twice":                        {"file: a, key: k}, {name: b, file: b, key: k", "key"},
		"no key twice":                       {"file: a}, {name: b, file: b", ""},
	} {
		_, err := parse(t, one(test.image))
		if test.path == "" && err != nil || test.path != "" && (len(fault.All(err)) != 1 || !strings.Contains(err.Error(), test.path)) {
			t.Errorf("%s: %v, want %q", name, err, test.path)
		}
	}
}

// TestOtherFormsAreNotGuessed: what is neither ours nor a known list is told as ours, and broken YAML
// is an error.
func TestOtherFormsAreNotGuessed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": {"name": "n"}}`: "apiVersion",
		`{"a": {"name": "n"}, "b": {"name": "n", "url": "https://example.org/b"}}`: "apiVersion",
		"a: [":              "images.yaml",
		"":                  "apiVersion",
		head + "images: []": `images`,
	} {
		if m, err := parse(t, text); err == nil || m != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	}
	m, err := parse(t, `{"a": {"name": "n", "source_url": "https://example.org/k.qcow2", "checksum_sha512": "`+digest+`"}}`)
	if err != nil || m.Spec.Images[0].URL != "https://example.org/k.qcow2" {
		t.Errorf("a list of community images: %+v, %v", m, err)
	}
}

// TestOverridesReachWhatTheyAreFor: only the images that are named, and only qcow2 is converted.
func TestOverridesReachWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	m, err := parse(t, head+"  images: [{name: one, file: a, convert: raw}, {name: two, file: b, format: raw}, {name: three, file: c}]\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		override Override
		keys     []string
		convert  []string
	}{
		"nothing":      {Override{}, []string{"one", "two", "three"}, []string{"raw", "", ""}},
		"to raw":       {Override{Convert: "raw"}, []string{"one", "two", "three"}, []string{"raw", "", "raw"}},
		"to nothing":   {Override{Convert: "none"}, []string{"one", "two", "three"}, []string{"", "", ""}},
		"one of three": {Override{Only: []string{"three"}}, []string{"three"}, []string{""}},
	} {
		part, err := m.With(test.override)
		if err != nil {
			t.Fatal(err)
		}
		var convert []string
		for _, i := range part.Spec.Images {
			convert = append(convert, i.Convert)
		}
		if !slices.Equal(part.Keys(), test.keys) || !slices.Equal(convert, test.convert) {
			t.Errorf("%s: %q converted to %q", name, part.Keys(), convert)
		}
	}
	kept, err := parse(t, head+"  defaults: {convert: raw}\n  images: [{name: a, file: a, convert: none}]\n")
	if err != nil || kept.Spec.Images[0].Convert != "" {
		t.Errorf("one that stays as it is: %+v, %v", kept, err)
	}
}

// TestSourcesAreTold for people: the address, the file, or the bundle's item.
func TestSourcesAreTold(t *testing.T) {
	t.Parallel()
	for want, i := range map[string]Image{"https://example.org/a": {URL: "https://example.org/a"}, "a.raw": {File: "a.raw"}, "bundle item node": {Bundle: "node"}} {
		if got := i.Source(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNodeImagesAreProvidedForAYear after they were built; others say nothing of it, nor do those of
// which nobody knows when.
func TestNodeImagesAreProvidedForAYear(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		image Image
		until string
	}{
		"a node":               {Image{KubernetesVersion: "1.34.2", BuildDate: "2026-01-31"}, "2027-01-31"},
		"a node without a day": {Image{KubernetesVersion: "1.34.2"}, ""},
		"no node":              {Image{BuildDate: "2026-01-31"}, ""},
	} {
		p := test.image.GlanceProperties()
		if p["provided_until"] != test.until || p["uuid_validity"] != test.until || (p["replace_frequency"] == "never") != (test.image.KubernetesVersion != "") {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// TestVersionsInListsOfOthers: numbers in their order, dates as text, also mixed.
func TestVersionsInListsOfOthers(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"1.9.0", "1.10.0"}, {"20260101", "20260102"}, {"2026-01-01", "2026-01-02"}, {"1.0", "2026-01-01"}, {"2026-01-01", "3.0"}} {
		if a, b := compareVersions(pair[0], pair[1]), compareVersions(pair[1], pair[0]); a >= 0 || b <= 0 {
			t.Errorf("%v: %d and %d", pair, a, b)
		}
	}
}

// TestWhatOSISMListsSayOfVersions: a version is Kubernetes' only in a list of node images, and if
// nothing else says another.
func TestWhatOSISMListsSayOfVersions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ image, version, want string }{
		"its own":                {"name: ubuntu-capi, meta: {os_distro: ubuntu}", "version: v1.34.2", "v1.34.2"},
		"another that is told":   {"name: ubuntu-capi, meta: {os_distro: ubuntu, kubernetes_version: v1.33.1}", "version: v1.34.2", "v1.33.1"},
		"not in full":            {"name: ubuntu-capi, meta: {os_distro: ubuntu}", "version: '1.34'", ""},
		"no node image":          {"name: cirros, meta: {os_distro: cirros}", "version: 0.6.2", ""},
		"told in another's name": {"name: flatcar, meta: {os_distro: flatcar, kube_version: v1.33.1}", "version: '4081'", "v1.33.1"},
	} {
		m, err := parse(t, "images: [{"+test.image+", versions: [{"+test.version+", hidden: true, mirror_url: https://mirror.example.org/a, checksum: '"+digest[:64]+"'}]}]")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		i := m.Spec.Images[0]
		if i.KubernetesVersion != test.want || !i.Hidden || i.URL != "https://mirror.example.org/a" || i.Properties["image_source"] != "" {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

// TestManifestsOfAnEnvironment: each image comes with the settings of its file; names and keys are
// unique across files, and every mistake of every file is told.
func TestManifestsOfAnEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, images := range map[string]string{
		"first": "[{name: one, key: k, file: a}, {name: two, file: b}]", "second": "[{name: three, file: c}]", "same-name": "[{name: other, key: two, file: d}]", "same-key": "[{name: k, file: e}]", "wrong": "[{name: four}]",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(head+"  defaults: {tags: ["+name+"]}\n  images: "+images+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		files string
		want  []string
		errs  []string
	}{
		"two files":            {"first second", []string{"one of first", "two of first", "three of second"}, nil},
		"a name twice":         {"first same-name", nil, []string{`"two" is also an image of`}},
		"a key that is a name": {"first same-key", nil, []string{`"k" is also an image of`}},
		"each mistake":         {"wrong none . second", nil, []string{"0 sources", "none: the file does not exist", "is a directory"}},
	} {
		var paths []config.File
		for _, file := range strings.Fields(test.files) {
			paths = append(paths, config.File(filepath.Join(dir, file)))
		}
		all, err := ReadFiles(paths...)
		var got []string
		for _, m := range all {
			got = append(got, m.Spec.Images[0].Name+" of "+m.Spec.Defaults.Tags[0])
		}
		if test.errs == nil && (err != nil || !slices.Equal(got, test.want)) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		told := map[string]bool{}
		for _, one := range fault.All(err) {
			for _, want := range test.errs {
				told[want] = told[want] || strings.Contains(one.Error(), want)
			}
		}
		if len(fault.All(err)) != len(test.errs) || slices.Contains(slices.Collect(maps.Values(told)), false) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
