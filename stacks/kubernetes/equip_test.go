package kubernetes

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	emptyimage "github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/payload"
	"github.com/slipway-sh/slipway/stacks/seed"
)

const otherImage = "image=other\narchitecture=x86_64\nsystem=Debian\ninit=systemd\nlacks=\ncgroup=2\ncontrollers=cpu cpuset memory pids\nmodules=\ndenied=\nnoexec=\nselinux=off\nfirewall=none\nblocks=\nrivals=\n"

// foreign is a machine of another's image that can be a seed.
func foreign() *computer {
	c := bundled()
	c.says["sh -c "+seed.MachineFacts] = said{out: otherImage}
	return c
}

// filled is a bundle with small items in place of those that are brought.
func filled(t *testing.T) *bundle.Folder {
	t.Helper()
	folder := empty(t)
	parts, err := source.SeedPayload()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(parts.Items(), "kube-proxy") {
		item := bundle.Item{Name: name, Kind: bundle.Binary, Version: "v1.34.4+k3s1", Source: "test", License: "Apache-2.0"}
		var digest bundle.Digest
		if slices.Contains([]string{"k3s", "helm", "k9s", "kustomize"}, name) {
			digest, err = folder.Put(t.Context(), strings.NewReader(name))
		} else {
			image, failed := imageOf("usr/sbin/xtables-nft-multi")
			if failed != nil {
				t.Fatal(failed)
			}
			item.Kind, item.Ref = bundle.Image, "registry.example.org/"+name+":v1"
			digest, err = folder.PutImage(t.Context(), image)
		}
		item.SHA256, item.Size = digest.SHA256, digest.Size
		if name == "k3s" {
			item.Recipe = "own" // it has no iptables of its own
		}
		if err := errors.Join(err, folder.Record(item)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestAnothersMachineGetsAllOfTheBundle once, and k3s is stopped and started only for what changed.
func TestAnothersMachineGetsAllOfTheBundle(t *testing.T) {
	t.Parallel()
	folder := filled(t)
	c := foreign()
	m := host{c.machine(t)}
	in := K3sInputs{Login: Login{User: "debian"}, Payload: "x", Networks: []string{"10.42.0.0/16", "10.43.0.0/16"}, VolumeGiB: 10}
	const starts = "systemctl daemon-reload\nsystemctl enable slipway-container.service slipway-data.service k3s.service\nsystemctl restart systemd-modules-load.service\n" +
		"systemctl start slipway-container.service\nsysctl --quiet --ignore --load /etc/sysctl.d/90-slipway-network.conf /etc/sysctl.d/90-slipway-seed.conf\n" +
		"systemctl start --no-block k3s.service\nrm -f " + restartDue + "\n"
	settle := func() (did string) {
		t.Helper()
		if err := m.settle(t.Context(), in, wanted(), folder); err != nil {
			t.Fatal(err)
		}
		return c.did()
	}
	first := settle()
	if !strings.HasSuffix(first, "systemctl stop k3s.service\n"+starts) || strings.Count(first, "touch "+restartDue) != 1 {
		t.Errorf("at first it did\n%s", first)
	}
	for _, path := range []string{"/usr/local/bin/k3s", "/usr/libexec/slipway/helm", "/usr/share/slipway/images/management.tar", payload.IptablesArchive, seed.BroughtMark} {
		if _, there := c.files[path]; !there {
			t.Errorf("it brought no %s", path)
		}
	}
	if again := settle(); again != starts {
		t.Errorf("again it did\n%s", again)
	}
	delete(c.files, "/usr/local/bin/kustomize")
	if did := settle(); did != "touch "+restartDue+"\nsystemctl stop k3s.service\n"+starts {
		t.Errorf("for a program it did\n%s", did)
	}
	c.files[settings] = "a: c\n"
	if did := settle(); did != "touch "+restartDue+"\ninstall "+settings+"\nsystemctl stop k3s.service\n"+starts {
		t.Errorf("for a setting it did\n%s", did)
	}
	facts, brought, err := m.equip(t.Context(), folder, in.Networks)
	if err != nil || brought || facts.Own || facts.System != "Debian" {
		t.Errorf("brought %t to %+v, %v", brought, facts, err)
	}
	c.mu.Lock()
	c.ran = nil
	c.mu.Unlock()
	if _, err := m.facts(t.Context(), in.Networks, []string{"cmp"}); err != nil || !strings.HasSuffix(c.ran[0], " machine-facts  10.42.0.0/16 10.43.0.0/16 cmp") {
		t.Errorf("asked with %q: %v", c.ran, err)
	}
}

// TestAMachineThatCannotBeASeedIsNotTouched, and one that refuses something is told with it.
func TestAMachineThatCannotBeASeedIsNotTouched(t *testing.T) {
	t.Parallel()
	folder := filled(t)
	none := empty(t)
	for name, test := range map[string]struct {
		from    *bundle.Folder
		command string
		says    said
		want    string
		changes bool
	}{
		"another processor":         {folder, "sh -c " + seed.MachineFacts, said{out: strings.Replace(otherImage, "x86_64", "aarch64", 1)}, "its processor is aarch64", false},
		"half a check":              {folder, "sh -c " + seed.MachineFacts, said{out: "image=other\n"}, "did not say architecture", false},
		"a check that fails":        {folder, "sh -c " + seed.MachineFacts, said{err: "no sh", status: 1}, "checking the machine: sh: no sh", false},
		"a bundle without k3s":      {none, "none", said{}, "it contains no k3s", false},
		"no file is written":        {folder, "install", said{err: "Read-only", status: 1}, "Read-only", true},
		"iptables are not unpacked": {folder, "sh -c " + payload.UnpackIptables, said{err: "no room", status: 1}, "unpacking iptables: sh: no room", true},
		"k3s does not stop":         {folder, "systemctl stop", said{err: "not loaded", status: 5}, "", true},
		"units are not enabled":     {folder, "systemctl enable", said{err: "masked", status: 1}, "starting k3s: systemctl enable slipway-container.service slipway-data.service k3s.service: systemctl: masked", true},
		"no modules":                {folder, "systemctl restart systemd-modules-load", said{status: 1}, "", true},
		"no settings of the kernel": {folder, "sysctl", said{status: 1}, "", true},
		"k3s does not start":        {folder, "systemctl start --no-block", said{err: "masked", status: 1}, "starting k3s: systemctl start --no-block k3s.service: systemctl: masked", true},
		"a mark that stays":         {folder, "rm -f " + restartDue, said{err: "busy", status: 1}, "removing " + restartDue, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := foreign()
			c.says[test.command] = test.says
			err := host{c.machine(t)}.settle(t.Context(), K3sInputs{Payload: "x", VolumeGiB: 10}, wanted(), test.from)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if did := c.did(); (did != "") != test.changes {
				t.Errorf("it did\n%s", did)
			}
		})
	}
	c := foreign()
	for path := range map[string]bool{"/usr/local/bin/k3s": true} {
		c.says["touch"] = said{err: "no", status: 1}
		c.files[path] = ""
	}
	if _, _, err := (host{c.machine(t)}).equip(t.Context(), folder, nil); err == nil || !strings.Contains(err.Error(), "touch: no") {
		t.Errorf("a mark that cannot be made: %v", err)
	}
}

// TestWhatSELinuxRefusedIsTold with the error of k3s, whose own log does not have it.
func TestWhatSELinuxRefusedIsTold(t *testing.T) {
	t.Parallel()
	failed := errors.New("k3s does not start")
	for name, test := range map[string]struct {
		mode string
		err  error
		log  said
		want string
	}{
		"refused":       {"enforcing", failed, said{out: "avc:  denied { map }\n"}, "it is enforcing and refused: avc:  denied { map }; k3s does not start"},
		"permissive":    {"permissive", failed, said{out: "avc:  denied { map }\n"}, "k3s does not start"},
		"nothing there": {"enforcing", failed, said{out: " \n"}, "k3s does not start"},
		"no log":        {"enforcing", failed, said{out: "avc", status: 1}, "k3s does not start"},
		"all is well":   {"enforcing", nil, said{out: "avc:  denied { map }\n"}, ""},
	} {
		c := foreign()
		c.says["journalctl --boot"] = test.log
		err := host{c.machine(t)}.denied(t.Context(), seed.Facts{SELinux: test.mode}, test.err)
		if test.err == nil && err != nil || test.err != nil && (!errors.Is(err, failed) || !strings.HasSuffix(err.Error(), test.want) || strings.Contains(err.Error(), "avc") != (name == "refused")) {
			t.Errorf("%s: %v", name, err)
		}
		if (fault.Remedy(err) != "") != (name == "refused") {
			t.Errorf("%s: the remedy is %q", name, fault.Remedy(err))
		}
	}
}

// TestABringingThatIsStoppedEndsAtOnce, at whichever step it is.
func TestABringingThatIsStoppedEndsAtOnce(t *testing.T) {
	t.Parallel()
	folder := filled(t)
	brought := foreign()
	do := func(ctx context.Context, m *remote.Machine) error {
		return host{m}.settle(ctx, K3sInputs{Payload: "x", VolumeGiB: 10}, wanted(), folder)
	}
	if err := do(t.Context(), brought.machine(t)); err != nil {
		t.Fatal(err)
	}
	fresh := func() *computer { // all is there but for one program and a setting
		c := foreign()
		for path, content := range brought.files {
			c.files[path] = content
		}
		delete(c.files, "/usr/local/bin/kustomize")
		c.files["/etc/motd"] = "old"
		return c
	}
	eachStep(t, fresh, do)
}

// imageOf is an image with one file.
func imageOf(name string) (v1.Image, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Mode: 0o755}), w.Close()); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(emptyimage.Image, layer)
}
