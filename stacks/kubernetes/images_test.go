package kubernetes

import (
	"slices"
	"strings"
	"testing"
)

func TestImagesOfArchives(t *testing.T) {
	t.Parallel()
	const first = `{"schemaVersion":2,"manifests":[{"digest":"sha256:` + "0000000000000000000000000000000000000000000000000000000000000000" +
		`","annotations":{"io.containerd.image.name":"x/b:v1"}},{"annotations":{"io.containerd.image.name":"x/a:v1"}},{"annotations":{"other":"x/c:v1"}}]}`
	const second = `{"manifests":[{"annotations":{"io.containerd.image.name":"x/b:v1"}},{"annotations":{"io.containerd.image.name":"y/d:v2"}}]}`
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"none":              {"", nil},
		"one":               {first, []string{"x/a:v1", "x/b:v1"}},
		"two with a line":   {first + "\n" + second + "\n", []string{"x/a:v1", "x/b:v1", "y/d:v2"}},
		"two without":       {first + second, []string{"x/a:v1", "x/b:v1", "y/d:v2"}},
		"without manifests": {`{}`, nil},
	} {
		if got, err := imageNames(test.text); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, test.want)
		}
	}
	if got, err := imageNames(first + "{half"); err == nil {
		t.Errorf("half an index gives %v", got)
	}
}

// k3s that starts has the images of before; those of the machine's archives come later. Other
// archives are not waited for.
func TestTheImportOfImagesIsAwaited(t *testing.T) {
	h, _ := debian(t, "exit 0")
	h.ask(t, `set -e
mkdir -p /var/lib/rancher/k3s/agent/images /tmp/layout
cd /tmp/layout
printf '{"imageLayoutVersion":"1.0.0"}' >oci-layout
printf '{"manifests":[{"annotations":{"io.containerd.image.name":"x/a:v2"}}]}' >index.json
tar -cf /var/lib/rancher/k3s/agent/images/slipway.tar oci-layout index.json
tar -cf /var/lib/rancher/k3s/agent/images/other.tar oci-layout
cat >/usr/local/bin/k3s <<'END'
#!/bin/sh
test "$*" = "ctr --namespace k8s.io images ls --quiet" || exit 2
echo asked >>/var/log/asked
case $(wc -l </var/log/asked) in
1) exit 1 ;;
2) echo x/a:v1 ;;
*) printf 'x/a:v1\nx/a:v2\n' ;;
esac
END
chmod 755 /usr/local/bin/k3s`)
	if err := h.imported(t.Context()); err != nil {
		t.Fatal(err)
	}
	if asked := strings.Fields(h.ask(t, "cat /var/log/asked")); len(asked) != 3 {
		t.Errorf("containerd was asked %d times, want until it had the image", len(asked))
	}
}
