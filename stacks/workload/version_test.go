package workload

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/fault"
)

func TestAVersionWithoutAPatch(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	there := []NodeImage{{ID: "old", Version: "v1.33.7", Created: day(1)}, {ID: "rebuilt", Version: "v1.33.7", Created: day(3)}, {ID: "older", Version: "v1.33.6", Created: day(4)},
		{ID: "soon", Version: "v1.35.0-rc.1", Created: day(5)}, {ID: "round", Version: "v1.30.14", Created: day(2)}}
	for name, c := range map[string]struct {
		user           string
		preview        bool
		version, image string
		told           string
	}{
		"the environment's":       {"kubernetesVersion: v1.34", false, "1.34.4", "", ""},
		"a number":                {"kubernetesVersion: 1.34", false, "1.34.4", "", ""},
		"one that ends in zero":   {"kubernetesVersion: 1.30", false, "1.30.14", "round", ""},
		"the newest patch":        {"kubernetesVersion: '1.33'", false, "1.33.7", "rebuilt", ""},
		"a full version":          {"kubernetesVersion: 1.33.6", false, "1.33.6", "", ""},
		"none":                    {"", false, "", "", ""},
		"no image":                {"kubernetesVersion: '1.32'", false, "", "", "there is no node image with 1.32"},
		"a preview only":          {"kubernetesVersion: '1.35'", false, "", "", "there is no node image with 1.35"},
		"a preview on request":    {"kubernetesVersion: '1.35'", true, "1.35.0-rc.1", "soon", ""},
		"a preview that is named": {"kubernetesVersion: v1.35.0-rc.1", false, "", "", "v1.35.0-rc.1 is a preview"},
		"the same, on request":    {"kubernetesVersion: v1.35.0-rc.1", true, "v1.35.0-rc.1", "", ""},
		"an image that is named":  {"kubernetesVersion: '1.33'\nmachineImage: mine", false, "", "", "you name an image"},
		"the same minor, and one": {"kubernetesVersion: '1.34'\nmachineImage: mine", false, "", "", "you name an image"},
	} {
		w := wanted(t, "c1", c.user)
		w.Preview = c.preview
		err := w.resolveVersion(func() ([]NodeImage, error) { return there, nil })
		if c.told != "" {
			if err == nil || !strings.Contains(err.Error(), c.told) || fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
				t.Errorf("%s: told %v", name, err)
			}
			continue
		}
		image, _ := w.Values["machineImageId"].(string)
		if got, _ := w.Values["kubernetesVersion"].(string); err != nil || got != c.version || image != c.image {
			t.Errorf("%s: version %q, image %q, %v", name, got, image, err)
		}
	}
	w := wanted(t, "c1", "kubernetesVersion: '1.33'")
	if err := w.resolveVersion(func() ([]NodeImage, error) { return nil, errors.New("no answer") }); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("a cloud that does not answer: %v", err)
	}
}

// TestNodeImages reads them from Glance.
func TestNodeImages(t *testing.T) {
	t.Parallel()
	box, c := openCloud(t)
	client := box.Member.Image(t)
	made, err := images.Create(t.Context(), client, images.CreateOpts{Name: "node", ContainerFormat: "bare", DiskFormat: "raw", Properties: map[string]string{"kube_version": "v1.33.7"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if list, err := c.NodeImages(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("while it is queued: %v, %v", list, err)
	}
	if err := imagedata.Upload(t.Context(), client, made.ID, strings.NewReader("x")).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if list, err := c.NodeImages(t.Context()); err != nil || len(list) != 1 || list[0].ID != made.ID || list[0].Version != "v1.33.7" {
		t.Errorf("%v, %v", list, err)
	}
}
