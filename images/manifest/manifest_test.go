package manifest

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

const head = "apiVersion: slipway.sh/v1alpha1\nkind: Images\nspec:\n"

var digest = strings.Repeat("ab", 64)

func parse(t *testing.T, text string) (*Manifest, error) {
	t.Helper()
	return Parse(config.Source{Name: "/x/images.yaml", Text: []byte(text)})
}

func TestDefaultsApply(t *testing.T) {
	t.Parallel()
	m, err := parse(t, head+`  defaults: {visibility: shared, convert: raw, properties: {hw_disk_bus: scsi, os_type: windows}, tags: [b], share: [{project: p1}]}
  images:
    - {name: one, url: https://example.org/one.qcow2, sha512: `+digest+`, tags: [a, b], properties: {os_type: linux}}
    - {name: two, file: two.raw, format: raw, visibility: private}
    - {name: three, bundle: node, convert: none, share: [{project: p2, cloud: other}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := m.Spec.Images[0], m.Spec.Images[1], m.Spec.Images[2]
	if one.DiskFormat() != "raw" || one.Visibility != "shared" || one.Key != "one" || one.Method != "upload" || !slices.Equal(one.Tags, []string{"a", "b"}) || one.Properties["os_type"] != "linux" || one.Properties["hw_disk_bus"] != "scsi" {
		t.Errorf("one: %+v", one)
	}
	if two.DiskFormat() != "raw" || two.Convert != "" || len(two.Share) != 0 || string(two.File) != filepath.Join("/x", "two.raw") {
		t.Errorf("two: %+v", two)
	}
	if three.DiskFormat() != "qcow2" || len(three.Share) != 2 || three.Share[1].Cloud != "other" {
		t.Errorf("three: %+v", three)
	}
}

func TestEveryMistakeIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ image, path, cause, remedy string }{
		"no source":        {`{name: a}`, "spec.images[0]", "0 sources", "url, file and bundle"},
		"two sources":      {`{name: a, file: a, bundle: b}`, "spec.images[0]", "2 sources", ""},
		"no digest":        {`{name: a, url: https://example.org/a}`, "spec.images[0]", "no digest", "sha512"},
		"short digest":     {`{name: a, file: a, sha512: abcd}`, "sha512", "128 hexadecimal", ""},
		"login in address": {`{name: a, url: "https://u:p@example.org/a", sha512: D}`, "url", "not an http or https URL", "without a login"},
		"ftp":              {`{name: a, url: "ftp://example.org/a", sha512: D}`, "url", "not an http or https URL", ""},
		"version as float": {`{name: a, file: a, kubernetesVersion: 1.30}`, "kubernetesVersion", "float", "quote it"},
		"short version":    {`{name: a, file: a, kubernetesVersion: "1.30", os: {distro: ubuntu}}`, "kubernetesVersion", "is not a Kubernetes version", "full version"},
		"no distro":        {`{name: a, file: a, kubernetesVersion: v1.30.1}`, "os.distro", "Magnum refuses", ""},
		"wrong disk bus":   {`{name: a, file: a, properties: {hw_disk_bus: ssd}}`, "properties[hw_disk_bus]", "is not a valid value", "scsi"},
		"typing mistake":   {`{name: a, file: a, properties: {hw_dsk_bus: scsi}}`, "properties[hw_dsk_bus]", "no service knows", "hw_disk_bus"},
		"Glance's own":     {`{name: a, file: a, properties: {os_hash_value: x}}`, "properties[os_hash_value]", "Glance's own", ""},
		"ours":             {`{name: a, file: a, properties: {slipway_image: x}}`, "properties[slipway_image]", "Slipway's own", ""},
		"hours in words":   {`{name: a, file: a, properties: {hotfix_hours: many}}`, "properties[hotfix_hours]", "is not a valid value", "a number of hours"},
		"hours below zero": {`{name: a, file: a, properties: {hotfix_hours: "-1"}}`, "properties[hotfix_hours]", "is not a valid value", "a number of hours"},
		"validity":         {`{name: a, file: a, properties: {uuid_validity: sometimes}}`, "properties[uuid_validity]", "is not a valid value", "last-N"},
		"unknown key":      {`{name: a, file: a, min_disk: 3}`, "min_disk", "unknown key", "minDisk"},
		"date":             {`{name: a, file: a, buildDate: yesterday}`, "buildDate", "is not a date", ""},
		"same name":        {`{name: a, file: a}, {name: a, file: b}`, "spec.images[1].name", "already", ""},
		"private share":    {`{name: a, file: a, visibility: private, share: [{project: p}]}`, "share", "shared", ""},
		"keyless":          {`{name: a, file: a, signature: {method: minisign, from: x}}`, "signature", "one public key", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, head+"  images: ["+strings.ReplaceAll(test.image, "D}", digest+"}")+"]\n")
			all := fault.All(err)
			if len(all) != 1 || fault.ExitCode(err) != fault.ExitUsage {
				t.Fatalf("faults %v", all)
			}
			if text := all[0].Error(); !strings.Contains(text, test.path) || !strings.Contains(text, test.cause) || !strings.HasPrefix(text, "/x/images.yaml:4") || !strings.Contains(fault.Remedy(all[0]), test.remedy) {
				t.Errorf("told %q, remedy %q", text, fault.Remedy(all[0]))
			}
		})
	}
	if _, err := parse(t, "<html><body>login</body></html>"); err == nil || !strings.Contains(err.Error(), "web page") {
		t.Errorf("a page: %v", err)
	}
}

// TestDigestsAreCompared: one of two is enough, in any letters, of the right kind.
func TestDigestsAreCompared(t *testing.T) {
	t.Parallel()
	both := Image{SHA256: "AB", SHA512: "cd"}
	for recorded, want := range map[string]bool{"sha256:ab": true, "SHA256:AB": true, "sha512:cd": true, "sha512:ab": false, "sha256:cd": false, "ab": false, "": false, "sha256:": false, "sha512:": false} {
		if both.HasDigest(recorded) != want {
			t.Errorf("%q: %v", recorded, !want)
		}
		if (Image{}).HasDigest(recorded) {
			t.Errorf("an image without a digest has %q", recorded)
		}
	}
}

func TestAzimuthManifest(t *testing.T) {
	t.Parallel()
	m, err := parse(t, `{"kube_1_34": {"name": "ubuntu-noble-kube-v1.34.2", "url": "https://example.org/k.qcow2", "checksum": "sha256:`+digest[:64]+`",
	 "checksum_sha512": "`+digest+`", "kubernetes_version": "1.34.2"}, "workstation": {"name": "linux-workstation", "url": "https://example.org/w.qcow2.bz2",
	 "checksum": "`+digest[:64]+`", "new_key": {"unknown": true}}}`)
	if err != nil {
		t.Fatal(err)
	}
	kube, station := m.Spec.Images[0], m.Spec.Images[1]
	if kube.Key != "kube_1_34" || kube.KubernetesVersion != "v1.34.2" || kube.SHA512 != digest || kube.SHA256 != digest[:64] || kube.Visibility != "private" || kube.Format != "qcow2" || kube.GlanceProperties()["os_distro"] != "ubuntu" {
		t.Errorf("kube %+v", kube)
	}
	if station.KubernetesVersion != "" || station.SHA256 != digest[:64] || station.GlanceProperties()["kube_version"] != "" {
		t.Errorf("workstation %+v", station)
	}
	part, err := m.With(Override{Only: []string{"kube_1_34"}, Visibility: "community", Convert: "raw", Properties: map[string]string{"hw_disk_bus": "scsi"}})
	if err != nil || len(part.Spec.Images) != 1 || part.Spec.Images[0].Visibility != "community" || part.Spec.Images[0].DiskFormat() != "raw" || part.Spec.Images[0].Properties["hw_disk_bus"] != "scsi" {
		t.Errorf("part %+v (%v)", part, err)
	}
	if _, err := m.With(Override{Only: []string{"kube_1_35"}}); err == nil || !strings.Contains(fault.Remedy(err), "kube_1_34") {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestOSISMList(t *testing.T) {
	t.Parallel()
	m, err := parse(t, `
images:
  - name: ubuntu-capi-image
    format: qcow2
    login: ubuntu
    min_disk: 20
    min_ram: 1024
    multi: false
    separator: "-"
    visibility: community
    meta: {architecture: x86_64, os_distro: ubuntu, os_version: '22.04', hw_disk_bus: scsi, replace_frequency: never, uuid_validity: none, provided_until: none}
    tags: [managed_by_osism]
    versions:
      - {version: 'v1.34.2', url: https://example.org/134.qcow2, checksum: "sha256:`+digest[:64]+`", build_date: 2026-01-31}
  - name: Debian 12
    format: raw
    multi: true
    meta: {os_distro: debian, os_version: '12'}
    versions:
      - {version: '20260102', url: https://example.org/2.raw, checksum: "sha512:`+digest+`"}
      - {version: '20260101', url: https://example.org/1.raw, checksum: "sha512:`+digest+`"}
`)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Image{}
	for _, i := range m.Spec.Images {
		byName[i.Name] = i
	}
	if got := slices.Sorted(maps.Keys(byName)); !slices.Equal(got, []string{"Debian 12", "Debian 12 (20260101)", "ubuntu-capi-image-v1.34.2"}) {
		t.Fatalf("names %q", got)
	}
	if byName["Debian 12"].URL != "https://example.org/2.raw" {
		t.Errorf("the newest is %s", byName["Debian 12"].URL)
	}
	node := byName["ubuntu-capi-image-v1.34.2"]
	p := node.GlanceProperties()
	if node.MinDisk != 20 || node.MinRAM != 1024 || node.Visibility != "community" || p["kube_version"] != "v1.34.2" || p["os_version"] != "22.04" || p["image_original_user"] != "ubuntu" ||
		p["image_build_date"] != "2026-01-31" || p["uuid_validity"] != "none" || p["architecture"] != "x86_64" {
		t.Errorf("node %+v, properties %v", node, p)
	}
	if _, err := parse(t, "images: [{name: a, versions: []}]"); err == nil {
		t.Error("an image without versions was read")
	}
	if _, err := parse(t, "images: [{name: a, versions: [{version: '1', url: https://example.org/a, checksum: 'md5:d41d8cd98f00b204e9800998ecf8427e'}]}]"); err == nil || !strings.Contains(err.Error(), "no digest") {
		t.Errorf("MD5: %v", err)
	}
}

// A version's own settings go before the image's, a mirror before the source that is told, and
// disabled images are left out.
func TestOSISMVersions(t *testing.T) {
	t.Parallel()
	m, err := parse(t, `
images:
  - name: Kubernetes CAPI
    enable: true
    multi: false
    visibility: public
    meta: {os_distro: ubuntu, uuid_validity: notice, hw_disk_bus: virtio}
    versions:
      - {version: '1.29.0', url: https://example.org/129.qcow2, checksum: "sha256:`+digest[:64]+`", os_version: '22.04'}
  - name: Ubuntu
    multi: true
    separator: "_"
    visibility: public
    meta: {os_distro: ubuntu, os_version: '22.04', hw_disk_bus: scsi}
    versions:
      - {version: '1', url: https://example.org/1.img, checksum: "sha256:`+digest[:64]+`", visibility: community, meta: {hw_disk_bus: virtio}}
      - {version: '2', url: https://example.org/2.img, mirror_url: https://mirror.example.org/2.img, checksum: "sha256:`+digest[:64]+`"}
  - name: Old
    enable: false
    versions: []
`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, i := range m.Spec.Images {
		p := i.GlanceProperties()
		got[i.Name] = []string{i.KubernetesVersion, i.OS.Version, i.Visibility, p["hw_disk_bus"], i.URL, p["image_source"]}
	}
	want := map[string][]string{
		"Kubernetes CAPI 1.29.0": {"v1.29.0", "22.04", "public", "virtio", "https://example.org/129.qcow2", "https://example.org/129.qcow2"},
		"Ubuntu_(1)":             {"", "22.04", "community", "virtio", "https://example.org/1.img", "https://example.org/1.img"},
		"Ubuntu":                 {"", "22.04", "public", "scsi", "https://mirror.example.org/2.img", "https://example.org/2.img"},
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What `slipway image manifest` prints of another tool's list can be read.
func TestAManifestReadsBack(t *testing.T) {
	t.Parallel()
	m, err := parse(t, `{"a": {"name": "n", "url": "https://example.org/k.qcow2", "checksum_sha512": "`+digest+`"}}`)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(t, string(text))
	if err != nil || len(again.Spec.Images) != 1 || again.Spec.Images[0].Key != "a" {
		t.Errorf("read back %+v (%v)\n%s", again, err, text)
	}
}

func TestYearAfter(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{"2024-02-29": "2025-03-01", "2026-01-31": "2027-01-31", "x": ""} {
		if got := yearAfter(date); got != want {
			t.Errorf("a year after %s is %s, want %s", date, got, want)
		}
	}
}
