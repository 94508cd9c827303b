package component_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
)

// proves: S-24
func TestBuiltInPinsFitTheCatalogue(t *testing.T) {
	t.Parallel()
	pins, err := component.UpstreamPins()
	if err != nil {
		t.Fatal(err)
	}
	if len(pins.Entries) == 0 {
		t.Fatal("nothing is pinned")
	}
	for _, pin := range pins.Entries {
		c, ok := component.Find(pin.Name)
		if !ok {
			t.Errorf("%s: not in the catalogue", pin.Name)
			continue
		}
		if pin.Version != c.Version {
			t.Errorf("%s: pinned %s, the catalogue has %s: find the digest of that, or remove the entry", pin.Name, pin.Version, c.Version)
		}
		from, ok := c.Upstream()
		if !ok || from.URL != pin.URL || from.Member != pin.Member || from.Image != pin.Image {
			t.Errorf("%s: pinned from %s, upstream is %+v", pin.Name, pin.Source(), from)
		}
	}
}

// TestThePageSaysHowManyArePinned: whoever pulls must not expect a whole bundle.
func TestThePageSaysHowManyArePinned(t *testing.T) {
	t.Parallel()
	pins, err := component.UpstreamPins()
	if err != nil {
		t.Fatal(err)
	}
	pinned := 0
	for _, c := range component.All() {
		if _, ok := pins.Pin(c.Name); ok {
			pinned++
		}
	}
	page, err := os.ReadFile("../../docs/guides/bundle.md")
	if want := fmt.Sprintf("%d of the %d items have a pin", pinned, len(component.All())); err != nil || !strings.Contains(string(page), want) {
		t.Errorf("docs/guides/bundle.md does not say %q (%v)", want, err)
	}
}

func TestUpstreamOfEveryComponent(t *testing.T) {
	t.Parallel()
	none := map[string]bool{"seed": true, "node": true, "snapshot-crds": true, "velero-crds": true} // made here, or of many files
	for _, c := range component.Known(component.DefaultVersions()) {
		from, ok := c.Upstream()
		if ok == none[c.Name] {
			t.Errorf("%s: upstream %v", c.Name, ok)
			continue
		}
		isURL := strings.HasPrefix(from.URL+from.Repository, "https://") && !strings.Contains(from.URL, "//v")
		if ok && (c.Kind == bundle.Image) == isURL {
			t.Errorf("%s (%s): upstream is %+v", c.Name, c.Kind, from)
		}
		if ok && from.String() == "" {
			t.Errorf("%s: nothing names its upstream", c.Name)
		}
	}
	k3s, _ := component.Find("k3s")
	if from, _ := k3s.Upstream(); strings.Contains(from.URL, "+") {
		t.Errorf("plus sign in %s", from.URL)
	}
}

const (
	digestA = "a111111111111111111111111111111111111111111111111111111111111111"
	digestB = "b222222222222222222222222222222222222222222222222222222222222222"
	head    = "apiVersion: slipway.sh/v1alpha1\nkind: UpstreamPins\nentries:\n"
)

func TestParsePinsRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"unknown key":         {head + "- {name: kubelet, sha: x}", `unknown field "sha"`},
		"other kind":          {"apiVersion: slipway.sh/v1alpha1\nkind: Bundle\n", "not slipway.sh/v1alpha1, UpstreamPins"},
		"other API version":   {"apiVersion: slipway.sh/v9\nkind: UpstreamPins\n", "slipway.sh/v9"},
		"unknown name":        {head + "- {name: kubelt, version: v1, url: https://a/b, sha256: " + digestA + "}", `no "kubelt"`},
		"no version":          {head + "- {name: kubelet, url: https://a/b, sha256: " + digestA + "}", "version: missing"},
		"no digest":           {head + "- {name: kubelet, version: v1, url: https://a/b}", "sha256:"},
		"short digest":        {head + "- {name: kubelet, version: v1, url: https://a/b, sha256: abc}", "sha256:"},
		"digest in capitals":  {head + "- {name: kubelet, version: v1, url: https://a/b, sha256: " + strings.Repeat("A", 64) + "}", "sha256:"},
		"plain HTTP":          {head + "- {name: kubelet, version: v1, url: http://a/b, sha256: " + digestA + "}", "https://"},
		"member that escapes": {head + "- {name: ctr, version: v1, url: https://a/b, member: ../x, sha256: " + digestA + "}", "member:"},
		"twice":               {head + strings.Repeat("- {name: kubelet, version: v1, url: https://a/b, sha256: "+digestA+"}\n", 2), "given twice"},
		"image as a file":     {head + "- {name: pause, version: v1, url: https://a/b, sha256: " + digestA + "}", "kind image"},
		"file as an image":    {head + "- {name: kubelet, version: v1, image: a.b/c:1, digest: sha256:" + digestA + "}", "kind binary"},
		"image without tag":   {head + "- {name: pause, version: v1, image: a.b/c, digest: sha256:" + digestA + "}", "HOST/PATH:TAG"},
		"image with digest":   {head + "- {name: pause, version: v1, image: 'a.b/c:1@sha256:" + digestA + "', digest: sha256:" + digestA + "}", "HOST/PATH:TAG"},
		"image, no digest":    {head + "- {name: pause, version: v1, image: a.b/c:1}", "digest:"},
		"image and URL":       {head + "- {name: pause, version: v1, image: a.b/c:1, url: https://a/b, digest: sha256:" + digestA + "}", "do not go with image"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := component.ParsePins("pins.yaml", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "pins.yaml") {
				t.Fatalf("error %v, want one of pins.yaml with %q", err, test.want)
			}
			if fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
				t.Errorf("exit code %d, remedy %q", fault.ExitCode(err), fault.Remedy(err))
			}
		})
	}
}

func TestMergeDoesNotWeaken(t *testing.T) {
	t.Parallel()
	pin := component.Pin{Name: "kubelet", Version: "v1", URL: "https://a.test/kubelet", SHA256: digestA}
	with := func(change func(*component.Pin)) component.Pin {
		changed := pin
		change(&changed)
		return changed
	}
	for name, test := range map[string]struct {
		user component.Pin
		ok   bool
	}{
		"same":                  {pin, true},
		"same bytes, elsewhere": {with(func(p *component.Pin) { p.URL = "https://b.test/kubelet" }), true},
		"newer version":         {with(func(p *component.Pin) { p.Version, p.SHA256 = "v2", digestB }), true},
		"another component":     {with(func(p *component.Pin) { p.Name, p.SHA256 = "kubectl", digestB }), true},
		"other bytes":           {with(func(p *component.Pin) { p.SHA256 = digestB }), false},
		"other member":          {with(func(p *component.Pin) { p.Member = "kubelet" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pins, user := component.NewPins(), component.NewPins()
			pins.Set(pin)
			user.Set(test.user)
			err := pins.Merge("pins.yaml", user)
			if (err == nil) != test.ok {
				t.Fatalf("merging: %v", err)
			}
			want := test.user
			var f *fault.Fault
			if !test.ok {
				want = pin
				if !errors.As(err, &f) || f.Exit != fault.ExitUsage || !strings.Contains(f.Object, "pins.yaml: entries[0] (kubelet)") {
					t.Errorf("fault %+v", f)
				}
			}
			if got, _ := pins.Pin(test.user.Name); got != want {
				t.Errorf("merged %+v, want %+v", got, want)
			}
		})
	}
}
