package preflight

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// described is a node image of the cloud with properties.
func described(properties map[string]string, minDisk int) func(*cloud.Snapshot) {
	return func(s *cloud.Snapshot) {
		i := image("n1", "node", "active", 1)
		i.Properties, i.MinDisk, i.Distro = properties, minDisk, "ubuntu"
		s.Images = append(s.Images, i)
		s.Quotas[1].Limit, s.Quotas[2].Limit = 100, 1<<20
	}
}

// proves: S-87
func TestImagesWhosePropertiesDisagreeAreRefused(t *testing.T) {
	t.Parallel()
	const node, seed = "managementCluster: {image: node}", "seed: {image: node}"
	for name, c := range map[string]struct {
		spec       string
		properties map[string]string
		minDisk    int
		level      Level
		want       string
	}{
		"fits":                     {node, map[string]string{"kube_version": "v1.34.4", "kubernetes_version": "1.34.4", "architecture": "x86_64"}, 0, "", ""},
		"SCS's alone":              {node, map[string]string{"kubernetes_version": "v1.34.4"}, 0, "", ""},
		"other version":            {node, map[string]string{"kube_version": "v1.33.1"}, 0, Error, "management-cluster image node (n1): kube_version: it is v1.33.1, expected v1.34.4"},
		"other SCS's":              {node, map[string]string{"kubernetes_version": "v1.33.1"}, 0, Error, "management-cluster image node (n1): kubernetes_version: it is v1.33.1, expected v1.34.4"},
		"the file's version":       {"managementCluster: {image: node, kubernetesVersion: v1.33.1}", map[string]string{"kube_version": "v1.34.4"}, 0, Error, "kube_version: it is v1.34.4, expected v1.33.1"},
		"versions disagree":        {node, map[string]string{"kube_version": "v1.34.4", "kubernetes_version": "v1.33.1"}, 0, Error, "kubernetes_version: it is v1.33.1, but kube_version is v1.34.4"},
		"architecture":             {node, map[string]string{"kube_version": "v1.34.4", "architecture": "aarch64"}, 0, Error, "image node (n1): architecture: it is aarch64, expected x86_64"},
		"disk":                     {node, map[string]string{"kube_version": "v1.34.4"}, 100, Error, "image node (n1): min_disk: the image needs 100 GiB of disk, but the machines have 80"},
		"disk of a volume":         {"managementCluster: {image: node, controlPlane: {rootVolume: {sizeGiB: 120}}}", map[string]string{"kube_version": "v1.34.4"}, 100, "", ""},
		"no version":               {node, nil, 0, Warning, "kube_version: it is not set"},
		"seed":                     {seed, map[string]string{"architecture": "x86_64"}, 0, "", ""},
		"seed architecture":        {seed, map[string]string{"architecture": "aarch64"}, 0, Error, "image image node (n1): architecture: it is aarch64"},
		"seed of the bundle":       {seed, map[string]string{"slipway_version": "v1.34.1+k3s1"}, 0, "", ""},
		"seed of the bundle, list": {seed, map[string]string{"kube_version": "v1.34.1+k3s1"}, 0, "", ""},
		"seed of nodes":            {seed, map[string]string{"kube_version": "v1.34.4"}, 0, Error, "image image node: kube_version: it is v1.34.4: this is a node image"},
	} {
		s := healthy()
		described(c.properties, c.minDisk)(s)
		r := Run(Input{Environment: environment(t, c.spec), Snapshot: s, Steps: []string{"seed"}, Now: now, Bundle: Bundle{Kubernetes: "v1.34.4", Architecture: "x86_64"}})
		problems := append(told(r, Error), told(r, Warning)...)
		if c.want == "" && len(problems) > 0 || c.want != "" && (len(problems) != 1 || len(told(r, c.level)) != 1 || !strings.Contains(problems[0], c.want)) {
			t.Errorf("%s: found %q, want %q", name, problems, c.want)
		}
		if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Level != Info }); i >= 0 && r.Findings[i].Remedy == "" {
			t.Errorf("%s: no remedy", name)
		}
	}
}

// TestAPinnedVersionFitsTheBundlesImage, unless another image is named.
func TestAPinnedVersionFitsTheBundlesImage(t *testing.T) {
	t.Parallel()
	const object = "management-cluster spec.managementCluster.kubernetesVersion: it is "
	for name, c := range map[string]struct {
		cluster string
		level   Level
		want    string
	}{
		"none":              {"{}", "", ""},
		"the same":          {"{kubernetesVersion: v1.34.4}", "", ""},
		"one before":        {"{kubernetesVersion: v1.33.5}", Error, object + "v1.33.5, but the bundle's node image has Kubernetes v1.34.4"},
		"one after":         {"{kubernetesVersion: v1.35.0}", Error, object + "v1.35.0"},
		"another patch":     {"{kubernetesVersion: v1.34.2}", Warning, object + "v1.34.2"},
		"by values":         {"{values: {kubernetesVersion: 1.33.5}}", Error, object + "v1.33.5"},
		"an image by value": {"{kubernetesVersion: v1.33.5, values: {machineImageId: i1}}", "", ""},
	} {
		s := healthy()
		described(nil, 0)(s)
		r := Run(Input{Environment: environment(t, "managementCluster: "+c.cluster), Snapshot: s, Steps: []string{"seed"}, Now: now, Bundle: Bundle{Kubernetes: "v1.34.4"}})
		problems := append(told(r, Error), told(r, Warning)...)
		if c.want == "" && len(problems) > 0 || c.want != "" && (len(problems) != 1 || len(told(r, c.level)) != 1 || !strings.Contains(problems[0], c.want)) {
			t.Errorf("%s: found %q, want %q", name, problems, c.want)
		}
	}
}

// An image that the environment itself brings needs not be in the cloud yet.
func TestImagesOfTheListAreChosen(t *testing.T) {
	t.Parallel()
	list := []manifest.Image{{Name: "ubuntu-1.34", Key: "kube_1_34", KubernetesVersion: "v1.34.4", OS: manifest.OS{Distro: "ubuntu"}},
		{Name: "seed-image", Key: "seed-image", OS: manifest.OS{Distro: "ubuntu"}}}
	run := func(spec string) Result {
		s := healthy()
		described(nil, 0)(s)
		return Run(Input{Environment: environment(t, spec), Snapshot: s, Steps: []string{"seed"}, Now: now, Images: list, Bundle: Bundle{Kubernetes: "v1.34.4"}})
	}
	r := run("managementCluster: {image: ubuntu-1.34}, seed: {image: seed-image}")
	if m := r.Choices.Management; r.Refused() || m.ListedImage != "ubuntu-1.34" || m.ImageID+r.Choices.ImageID != "" || r.Choices.ListedImage != "seed-image" || r.Choices.SSHUser != "ubuntu" {
		t.Errorf("chosen %+v %+v; %q", r.Choices, r.Choices.Management, told(r, Error))
	}
	r = run("managementCluster: {image: ubuntu-1.34, kubernetesVersion: v1.33.1}")
	if found := told(r, Error); len(found) != 1 || !strings.Contains(found[0], "image ubuntu-1.34: kube_version: it is v1.34.4, expected v1.33.1") {
		t.Errorf("found %q", found)
	}
}

// Whoever made the image decides whether k3s is in it, and preflight tells what is brought.
func TestWhatIsBroughtToASeed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec       string
		properties map[string]string
		brings     bool
	}{
		"no image named":         {"seed: {}", nil, false},
		"a distribution's":       {"seed: {image: node}", map[string]string{"os_distro": "debian", "architecture": "x86_64"}, true},
		"uploaded by up":         {"seed: {image: node}", map[string]string{"os_distro": "debian", "slipway_version": "v1.34.1+k3s1"}, false},
		"uploaded by image sync": {"seed: {image: node}", map[string]string{"os_distro": "debian", "kube_version": "v1.34.1+k3s1"}, false},
		"a node's":               {"seed: {image: node}", map[string]string{"os_distro": "debian", "kube_version": "v1.34.1"}, false},
	} {
		s := healthy()
		described(c.properties, 0)(s)
		r := Run(Input{Environment: environment(t, c.spec), Snapshot: s, Steps: []string{"seed"}, Now: now})
		said := slices.ContainsFunc(told(r, Info), func(text string) bool { return strings.Contains(text, "over SSH") })
		if r.Choices.BringPayload != c.brings || said != c.brings {
			t.Errorf("%s: brings %t, said %t", name, r.Choices.BringPayload, said)
		}
	}
}
