package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/component"
)

// TestAddedPinsKeepTheOthers, and the comments at the head of the file.
func TestAddedPinsKeepTheOthers(t *testing.T) {
	t.Parallel()
	pin := func(name, digit string) component.Pin {
		return component.Pin{Name: name, Version: "v1", URL: "https://example.org/" + name, SHA256: strings.Repeat(digit, 64)}
	}
	set := func(all ...component.Pin) *component.Pins {
		pins := component.NewPins()
		for _, one := range all {
			pins.Set(one)
		}
		return pins
	}
	o := pinOptions{file: filepath.Join(t.TempDir(), "pins.yaml"), add: true}
	if err := o.write(set(pin("kubelet", "1"), pin("kubeadm", "2"))); err != nil { // no file yet
		t.Fatal(err)
	}
	text, err := os.ReadFile(o.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.file, append([]byte("# Head.\n# More.\n"), text...), 0o644); err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(filepath.Dir(o.file), "before")
	if err := os.Link(o.file, before); err != nil {
		t.Fatal(err)
	}
	if err := o.write(set(pin("kubeadm", "3"), pin("kubectl", "3"))); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(before); err != nil || string(kept) != "# Head.\n# More.\n"+string(text) {
		t.Errorf("the file is written in place, so that half of it can be lost: %v\n%s", err, kept)
	}
	if text, err = os.ReadFile(o.file); err != nil || !strings.HasPrefix(string(text), "# Head.\n# More.\n") {
		t.Errorf("%v\n%s", err, text)
	}
	pins, err := component.ParsePins("pins", text)
	if err != nil {
		t.Fatal(err)
	}
	for name, digit := range map[string]string{"kubelet": "1", "kubeadm": "3", "kubectl": "3"} {
		if got, ok := pins.Pin(name); !ok || got.SHA256[:1] != digit {
			t.Errorf("%s: %+v", name, got)
		}
	}
	o.add = false
	if err := o.write(set(pin("kubelet", "1"))); err != nil {
		t.Fatal(err)
	}
	if text, _ = os.ReadFile(o.file); strings.Contains(string(text), "kubectl") {
		t.Error("without --add the file keeps pins")
	}
}
