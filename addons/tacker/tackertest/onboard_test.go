package tackertest_test

import (
	"archive/zip"
	"bytes"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/tackertest"
	"github.com/slipway-sh/slipway/internal/kube"
)

// packed are Slipway's packages of each kind and variant.
func packed(t *testing.T) map[string][]byte {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile("../csar/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	objects, err := kube.Decode(bytes.NewReader(read("management.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, variant := range []csar.Variant{csar.Helm, csar.Raw} {
		options := csar.Options{Variant: variant, Types: map[string][]byte{"etsi_nfv_sol001_common_types.yaml": []byte("x"), "etsi_nfv_sol001_vnfd_types.yaml": []byte("x")}}
		spec, err := csar.ParseSpec("shop.yaml", read("shop.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		workload, err := csar.Workload(spec, options)
		if err != nil {
			t.Fatal(err)
		}
		management, err := csar.Management(csar.Spec{Name: "capi", Version: "1.0"}, objects, options)
		if err != nil {
			t.Fatal(err)
		}
		for kind, p := range map[string]*csar.Package{"workload": workload, "management": management} {
			if all[kind+" "+string(variant)], err = p.Zip(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// TestOnboarding takes Slipway's packages through the package management of the stand-in,
// with the checks that facts of Tacker name: layout, TOSCA.meta, digests, imports, vnfdId,
// scripts, policies. No real Tacker has done so.
//
// proves: T-05
func TestOnboarding(t *testing.T) {
	t.Parallel()
	for name, content := range packed(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := tackertest.Store(t)
			p := k.Create()
			if err := k.Upload(t, p, content); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.States(), " "); got != "CREATED UPLOADING PROCESSING ONBOARDED" || p.Operational != tackertest.Enabled || k.Usage(p) != tackertest.NotInUse {
				t.Errorf("%s, %s, %s", got, p.Operational, k.Usage(p))
			}
			again := k.Create()
			if err := k.Upload(t, again, content); err == nil || !strings.Contains(err.Error(), "vnfdId") || again.Onboarding != tackertest.Created {
				t.Errorf("a second time: %s, %v", again.Onboarding, err)
			}
			i, err := k.Instance(t, p)
			if err != nil {
				t.Fatal(err)
			}
			p.Operational = tackertest.Disabled
			if err := k.Delete(p); tackertest.Status(err) != 409 {
				t.Errorf("deleted while in use: %v", err)
			}
			if _, err := k.Instance(t, p); tackertest.Status(err) != 422 {
				t.Errorf("an instance of a disabled package: %v", err)
			}
			if err := i.Delete(); err != nil {
				t.Error(err)
			}
			if err := k.Delete(p); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOnboardingNoticesDamage: what a Tacker refuses, the stand-in refuses too.
func TestOnboardingNoticesDamage(t *testing.T) {
	t.Parallel()
	const meta, flavour = "TOSCA-Metadata/TOSCA.meta", "Definitions/shop_df_default.yaml"
	good := packed(t)["workload helm"]
	replace := func(file, old, with string) func(map[string][]byte) {
		return func(files map[string][]byte) {
			if !bytes.Contains(files[file], []byte(old)) {
				t.Errorf("%s has no %q", file, old)
			}
			files[file] = bytes.ReplaceAll(files[file], []byte(old), []byte(with))
		}
	}
	for name, test := range map[string]struct {
		damage func(map[string][]byte)
		says   string
	}{
		"no TOSCA.meta":     {func(f map[string][]byte) { delete(f, meta) }, meta},
		"another script":    {replace("Scripts/slipway_vnf.py", "main", "niam"), "the hash is"},
		"no script":         {func(f map[string][]byte) { delete(f, "Scripts/slipway_vnf.py") }, "is not in the package"},
		"an old algorithm":  {replace(meta, "SHA-256", "MD5"), "not supported"},
		"no definitions":    {func(f map[string][]byte) { delete(f, flavour) }, flavour},
		"no ETSI":           {func(f map[string][]byte) { delete(f, "Definitions/etsi_nfv_sol001_vnfd_types.yaml") }, "vnfd_types"},
		"another version":   {replace(meta, "CSAR-Version: 1.1", "CSAR-Version: 2.0"), "CSAR-Version"},
		"no level":          {replace(flavour, "default_level: default", "default_level: none"), "default_level"},
		"an unknown aspect": {replace(flavour, "aspect: workers_scale", "aspect: none"), "deltas of aspect none"},
		"a lost artifact":   {replace(flavour, "tosca.artifacts.Implementation.Python", "tosca.artifacts.File"), "artifact of Python"},
		"no UUID": {func(f map[string][]byte) {
			f["Definitions/shop_top.vnfd.yaml"] = noUUID(f["Definitions/shop_top.vnfd.yaml"])
		}, "uuid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := unzip(t, good)
			test.damage(files)
			k := tackertest.Store(t)
			p := k.Create()
			if err := k.Upload(t, p, rezip(t, files)); tackertest.Status(err) != 400 || !strings.Contains(err.Error(), test.says) || p.Onboarding != tackertest.Created || p.Operational != tackertest.Disabled {
				t.Errorf("%s, %s: %v", p.Onboarding, p.Operational, err)
			}
		})
	}
}

func noUUID(text []byte) []byte {
	var lines []string
	for line := range strings.Lines(string(text)) {
		if head, _, ok := strings.Cut(line, "descriptor_id:"); ok {
			line = head + "descriptor_id: nobody\n"
		}
		lines = append(lines, line)
	}
	return []byte(strings.Join(lines, ""))
}

func unzip(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func rezip(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := archive.Create(name)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
