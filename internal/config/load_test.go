package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

const head = "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\n"

// layers parses texts as files a.yaml, b.yaml and so on in a folder.
func layers(texts ...string) (*Loaded, error) {
	var sources []Source
	for i, text := range texts {
		sources = append(sources, Source{Name: fmt.Sprintf("%c.yaml", 'a'+i), Text: []byte(text)})
	}
	return Parse(sources...)
}

func mustParse(t *testing.T, texts ...string) *Loaded {
	t.Helper()
	l, err := layers(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lines are the errors of a join with their remedies, as users read them.
func lines(err error) []string {
	var all []string
	for _, one := range fault.All(err) {
		all = append(all, strings.TrimSuffix(one.Error()+" | "+fault.Remedy(one), " | "))
	}
	return all
}

func TestAllMistakesAreToldAtOnceWithTheirPlaces(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse(Source{Name: "wrong.yaml", Text: text})
	var want []string
	for i, line := range strings.Split(string(text), "\n") {
		for _, told := range strings.Split(line, " # wrong: ")[1:] {
			want = append(want, fmt.Sprintf("wrong.yaml:%d: %s", i+1, told))
		}
	}
	got := lines(err)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("told\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	for _, one := range fault.All(err) {
		if fault.ExitCode(one) != fault.ExitUsage {
			t.Errorf("%v ends the program with %d", one, fault.ExitCode(one))
		}
	}
}

func TestFilesThatAreNoEnvironment(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"syntax":          {head + "spec: [", "a.yaml:4: this is not YAML"},
		"tab":             {head + "spec:\n\tcloud: x\n", "a.yaml:5: this is not YAML"},
		"two documents":   {head + "---\n" + head, "a second document begins here"},
		"list":            {"- a\n", "a.yaml:1: expected a map, found a list"},
		"empty":           {"", "a.yaml:1: apiVersion: this is required"},
		"other version":   {strings.Replace(head, "v1alpha1", "v2", 1), `a.yaml:1: apiVersion: "slipway.sh/v2" is not a valid value`},
		"alias":           {head + "spec:\n  tags: &t [a]\n  cloud: *t\n", "a.yaml:6: spec.cloud: aliases are not allowed"},
		"merge key":       {head + "spec:\n  <<: {cloud: x}\n", `unknown key "<<"`},
		"key is a number": {head + "spec:\n  1.30: x\n", "a key must be text, found the number (float) 1.30"},
		"octal":           {head + "spec: {seed: {network: {mtu: 0o2400}}}\n", "0o2400 is not a decimal number"},
	} {
		if _, err := layers(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestMissingFilesAreAllNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Load(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml"))
	if got := lines(err); len(got) != 2 || !strings.Contains(got[1], "b.yaml: the environment file does not exist") || !strings.Contains(got[0], "slipway init") {
		t.Errorf("told %q", got)
	}
	if _, err := Load(); err == nil {
		t.Error("nothing to read is accepted")
	}
}

// proves: F07
func TestLayersMergeAndKeepOrigins(t *testing.T) {
	t.Parallel()
	base := head + `spec:
  cloud: one
  tags: [a, b]
  registries:
    docker.io: {mirrors: [https://m.example.org]}
  seed:
    flavor: small
    dataVolume:
      sizeGiB: 100
      type: ssd
`
	over := `spec:
  cloud: two
  tags: [c]
  registries:
    quay.io: {mirrors: [https://q.example.org]}
  seed:
    flavor: null
    dataVolume:
      sizeGiB: null
      availabilityZone: az1
`
	l := mustParse(t, base, over)
	spec := l.Environment.Spec
	if spec.Cloud != "two" || !slices.Equal(spec.Tags, []string{"c"}) || len(spec.Registries) != 2 {
		t.Errorf("merged to %+v", spec)
	}
	if spec.Seed.Flavor != "" || spec.Seed.DataVolume != (DataVolume{SizeGiB: 50, Type: "ssd", AvailabilityZone: "az1"}) {
		t.Errorf("null did not reset to the default: %+v", spec.Seed)
	}
	for path, want := range map[string]string{
		"metadata.name": "a.yaml:3", "spec.cloud": "b.yaml:2", "spec.tags": "b.yaml:3", "spec.tags[0]": "b.yaml:3", "spec.seed.flavor": "default",
		"spec.registries[docker.io].mirrors[0]": "a.yaml:8", "spec.registries[quay.io].mirrors[0]": "b.yaml:5",
		"spec.seed.dataVolume.sizeGiB": "default", "spec.seed.dataVolume.type": "a.yaml:13", "spec.seed.dataVolume.availabilityZone": "b.yaml:10", "spec.bundle": "default",
	} {
		if got := l.Origin(path).String(); got != want {
			t.Errorf("origin of %s is %s, want %s", path, got, want)
		}
	}
}

func TestMistakesOfEveryLayerAreTold(t *testing.T) {
	t.Parallel()
	_, err := layers(head+"spec:\n  cloud: 1\n", "spec:\n  cloud: fine\n  clowd: x\n")
	got := lines(err)
	if len(got) != 2 || !strings.HasPrefix(got[0], "a.yaml:5: spec.cloud: expected text") || !strings.HasPrefix(got[1], "b.yaml:3: spec.clowd: unknown key") {
		t.Errorf("told %q", got)
	}
}

func TestDefaultsAreValidAndComplete(t *testing.T) {
	t.Parallel()
	l := mustParse(t, head)
	seed := l.Environment.Spec.Seed
	if seed.Network.CIDR.String() != "192.168.100.0/24" || seed.DataVolume.SizeGiB != 50 || seed.FloatingIP.Mode != FloatingIPAuto || l.Environment.Spec.VolumesPolicy != VolumesDelete {
		t.Errorf("defaults are %+v", seed)
	}
	if len(seed.Access.SSHCIDRs) != 1 || seed.RootVolume != nil || !seed.WantsFloatingIP() || !seed.MakesNetwork() {
		t.Errorf("defaults are %+v", seed)
	}
	nested := mustParse(t, head+"spec: {seed: {rootVolume: {type: ssd}, access: {sshCIDRs: [], rules: [{port: 80, cidrs: [10.0.0.0/8]}]}}}\n").Environment.Spec.Seed
	if nested.RootVolume.SizeGiB != 40 || nested.Access.Rules[0].Protocol != "tcp" || len(nested.Access.SSHCIDRs) != 0 {
		t.Errorf("defaults within are %+v", nested)
	}
}

func TestPathsAreRelativeToTheFileThatSaysThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base, over := filepath.Join(dir, "slipway.yaml"), filepath.Join(dir, "environments", "prod.yaml")
	l, err := Parse(Source{base, []byte(head)}, Source{over, []byte("spec: {state: {passphraseFile: secret}}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(l.Environment.Spec.Bundle); got != filepath.Join(dir, "bundle") {
		t.Errorf("bundle is %s", got)
	}
	if got := string(l.Environment.Spec.State.PassphraseFile); got != filepath.Join(dir, "environments", "secret") {
		t.Errorf("passphrase is %s", got)
	}
	if got := l.StateURL(); got != "file://"+filepath.Join(dir, ".slipway") {
		t.Errorf("state is %s", got)
	}
	if l, _ := layers(head + "spec: {state: {backend: 's3://b/p?region=x'}}\n"); l.StateURL() != "s3://b/p?region=x" || l.StateDir() != "" {
		t.Errorf("state is %s in %q", l.StateURL(), l.StateDir())
	}
}

func TestFreeSettingsKeepTheirTypes(t *testing.T) {
	t.Parallel()
	l := mustParse(t, head+"spec: {seed: {k3s: {config: {kubelet-arg: [max-pods=200], debug: true, v: 2, day: 2026-01-02, none: null, map: {a: 1.5}}}}}\n")
	want := map[string]any{"kubelet-arg": []any{"max-pods=200"}, "debug": true, "v": 2, "day": "2026-01-02", "map": map[string]any{"a": 1.5}}
	if got := l.Environment.Spec.Seed.K3s.Config; !reflect.DeepEqual(got, want) {
		t.Errorf("read %#v", got)
	}
}

// proves: F08
func TestEnvironmentsFromOneBaseShareNoName(t *testing.T) {
	t.Parallel()
	base := head + "spec: {tags: [team]}\n"
	one, other := mustParse(t, base).Environment, mustParse(t, base, "metadata: {name: staging}\n").Environment
	if one.ResourceName("seed") != "prod-seed" || other.ResourceName("seed") != "staging-seed" {
		t.Errorf("names %s and %s", one.ResourceName("seed"), other.ResourceName("seed"))
	}
	shared := []string{"slipway", "slipway:step=seed", "team"}
	for _, tag := range one.ResourceTags("seed") {
		if slices.Contains(other.ResourceTags("seed"), tag) && !slices.Contains(shared, tag) {
			t.Errorf("both carry the tag %s", tag)
		}
	}
}

func TestTrustBundleIsReadAndChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, test := range map[string]struct{ text, want string }{
		"none":    {"hello", "no PEM certificate"},
		"key":     {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", `a block "PRIVATE KEY"`},
		"garbage": {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate 1 of the file"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := layers(head + "spec:\n  caBundle: " + path + "\n")
		if err == nil || !strings.Contains(err.Error(), "a.yaml:5: spec.caBundle: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := layers(head + "spec: {caBundle: absent.pem}\n"); !errors.Is(err, os.ErrNotExist) && (err == nil || !strings.Contains(err.Error(), "no such file")) {
		t.Errorf("absent file: %v", err)
	}
}

var typeOfEnvironment = reflect.TypeFor[Environment]()

// normal replaces what stands in brackets, as paths() has it.
func normal(path string) string {
	return regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(path, "[]")
}
