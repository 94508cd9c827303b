package try

import (
	"strings"
	"testing"
	"time"
)

// What the machine reports of itself decides whether it can be a node.
func TestWhatANodeMustHave(t *testing.T) {
	t.Parallel()
	for report, want := range map[string]struct{ reason, cause string }{
		"":                            {"", ""}, // the report of a seed's image, or of a release before
		" kubeadm= kubelet= runtime=": {"", ""},
		" kubeadm= kubelet= runtime=containerd/v2.1.4":                    {"", ""},
		" kubeadm=v1.34.4 kubelet=v1.34.4 runtime=containerd/v2.1.4":      {"", ""},
		" kubeadm=v1.34.4 kubelet=v1.34.4 runtime=cri-o":                  {"", ""},
		" kubeadm=v1.34.4 kubelet=v1.34.4 runtime=":                       {"incomplete node", "it has kubeadm v1.34.4, but no containerd"},
		" kubeadm=v1.34.4 kubelet= runtime=":                              {"incomplete node", "no kubelet and no containerd"},
		" kubeadm=v1.34.4 kubelet=v1.33.9 runtime=containerd/v2.1.4":      {"incomplete node", "it has kubeadm v1.34.4, but kubelet v1.33.9"},
		" kubeadm=v1.34.4 kubelet=v1.34.4 runtime=containerd/1.7.28-0deb": {"", ""},
	} {
		c := newConsole(image{size: 1 << 30})
		c.write([]byte("slipway-report root_kib=8000000 failed="+report+" end\r\n"), time.Second)
		if !c.marker {
			t.Errorf("%q is not read", report)
		}
		reason := c.judge()
		if string(reason) != want.reason {
			t.Errorf("%q: the verdict is %q", report, reason)
		}
		if reason == "" {
			continue
		}
		if _, cause, fix := c.explain(reason, BIOS, nil); !strings.Contains(cause, want.cause) || !strings.Contains(fix, "image-builder") {
			t.Errorf("%q: %s; %s", report, cause, fix)
		}
	}
	if text := (Node{Kubeadm: "v1.34.4", Kubelet: "v1.34.4", Runtime: "containerd/v2.1.4"}).String(); text != "kubeadm v1.34.4, kubelet v1.34.4, containerd/v2.1.4" {
		t.Error(text)
	}
}
