// Package template makes cluster templates as a file lists them, through the
// Magnum API: ours or the reference's.
package template

import (
	"reflect"
	"strings"

	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-sh/slipway/internal/config"
)

// APIVersion and Kind head every file of cluster templates.
const (
	APIVersion = "slipway.sh/v1alpha1"
	Kind       = "ClusterTemplates"
)

// File is a set of cluster templates.
type File struct {
	// Version of this file format.
	APIVersion string `json:"apiVersion" schema:"required,enum=slipway.sh/v1alpha1"`
	// Kind of this file.
	Kind string `json:"kind" schema:"required,enum=ClusterTemplates"`
	// What the set is called.
	Metadata Metadata `json:"metadata" schema:"required"`
	// What the set consists of.
	Spec Spec `json:"spec"`
}

// Metadata names a set. Templates carry the name, so that those that left the
// file are known.
type Metadata struct {
	// Name of the set. Two files of one project have two names.
	Name string `json:"name" schema:"required,format=label,maxLength=40"`
}

// Spec is what a set consists of.
type Spec struct {
	// Name of templates that have none of their own: `{version}` stands for 1.34.2, `{minor}` for 1.34, `{set}` for the set's name.
	NamePattern string `json:"namePattern" default:"kubernetes-{version}"`
	// Settings of all templates.
	Defaults Settings `json:"defaults"`
	// The templates.
	Templates []Template `json:"templates" schema:"required"`
}

// Template is one cluster template.
type Template struct {
	// Name; empty: after the pattern.
	Name string `json:"name,omitempty" schema:"maxLength=255"`
	// Kubernetes version that the image must have, such as v1.34.2.
	KubernetesVersion string `json:"kubernetesVersion" schema:"required"`
	// Name or ID of the image in Glance.
	Image string `json:"image" schema:"required"`
	// Settings of this template, over the defaults; labels are laid one by one.
	Settings Settings `json:"settings"`
}

// Settings are the fields of a template as Magnum has them. What is not given
// is left to Magnum.
type Settings struct {
	// Flavor of workers, by name or ID.
	Flavor string `json:"flavor,omitempty" magnum:"flavor_id"`
	// Flavor of control planes.
	MasterFlavor string `json:"masterFlavor,omitempty" magnum:"master_flavor_id"`
	// External network, by name or ID.
	ExternalNetwork string `json:"externalNetwork,omitempty" magnum:"external_network_id"`
	// Existing network of the nodes.
	FixedNetwork string `json:"fixedNetwork,omitempty" magnum:"fixed_network"`
	// Existing subnet of the nodes.
	FixedSubnet string `json:"fixedSubnet,omitempty" magnum:"fixed_subnet"`
	// Key pair.
	KeyPair string `json:"keyPair,omitempty" magnum:"keypair_id"`
	// Name servers, separated by commas.
	DNSNameserver string `json:"dnsNameserver,omitempty" magnum:"dns_nameserver"`
	// `calico`, `cilium` or `flannel`.
	NetworkDriver string `json:"networkDriver,omitempty" magnum:"network_driver" schema:"enum=|calico|cilium|flannel"`
	// `cinder`.
	VolumeDriver string `json:"volumeDriver,omitempty" magnum:"volume_driver" schema:"enum=|cinder"`
	// Size of the nodes' extra volume, in GiB.
	DockerVolumeSize int `json:"dockerVolumeSize,omitempty" magnum:"docker_volume_size" schema:"min=0,max=16384"`
	// Port of the Kubernetes API.
	APIServerPort int `json:"apiServerPort,omitempty" magnum:"apiserver_port" schema:"min=1024,max=65535,zero"`
	// Proxies of the nodes.
	HTTPProxy  string `json:"httpProxy,omitempty" magnum:"http_proxy"`
	HTTPSProxy string `json:"httpsProxy,omitempty" magnum:"https_proxy"`
	NoProxy    string `json:"noProxy,omitempty" magnum:"no_proxy"`
	// `vm` or `bm`.
	ServerType string `json:"serverType,omitempty" magnum:"server_type" schema:"enum=|vm|bm"`
	// Magnum's driver; empty: by the image.
	Driver string `json:"driver,omitempty" magnum:"driver"`
	// A load balancer for the Kubernetes API.
	MasterLB *bool `json:"masterLB,omitempty" magnum:"master_lb_enabled"`
	// Floating IPs for nodes.
	FloatingIP *bool `json:"floatingIP,omitempty" magnum:"floating_ip_enabled"`
	// Nodes without TLS. For tests only.
	TLSDisabled *bool `json:"tlsDisabled,omitempty" magnum:"tls_disabled"`
	// A registry in the cluster.
	Registry *bool `json:"registry,omitempty" magnum:"registry_enabled"`
	// Every project may use the template; takes the right to publish.
	Public *bool `json:"public,omitempty" magnum:"public"`
	// Left out of lists.
	Hidden *bool `json:"hidden,omitempty" magnum:"hidden"`
	// Labels, with values as text.
	Labels map[string]string `json:"labels,omitempty" magnum:"labels"`
}

// Parse reads a file of cluster templates. The error lists every mistake.
func Parse(source config.Source) (*File, error) {
	f := &File{}
	document, err := config.ParseDocument(source, f)
	if err != nil {
		return nil, err
	}
	seen := map[string]*field.Path{}
	for n, t := range f.Spec.Templates {
		at := field.NewPath("spec", "templates").Index(n)
		if v := withV(t.KubernetesVersion); !semver.IsValid(v) || strings.Count(v, ".") != 2 {
			document.Add(at.Child("kubernetesVersion"), "write the full version, such as v1.34.2", "%q is not a Kubernetes version", t.KubernetesVersion)
		}
		name := f.NameOf(t)
		if first := seen[name]; first != nil {
			document.Add(at, "give it a name, or another namePattern", "its name %q is already used by %s", name, first)
		}
		seen[name] = at
	}
	return f, document.Err()
}

func withV(version string) string { return "v" + strings.TrimPrefix(version, "v") }

// NameOf is the name of a template.
func (f *File) NameOf(t Template) string {
	if t.Name != "" {
		return t.Name
	}
	version := strings.TrimPrefix(t.KubernetesVersion, "v")
	return strings.NewReplacer("{version}", version, "{minor}", strings.TrimPrefix(semver.MajorMinor("v"+version), "v"), "{set}", f.Metadata.Name).Replace(f.Spec.NamePattern)
}

// Mark is the tag by which templates of the set are known.
func (f *File) Mark() string { return "slipway:set=" + f.Metadata.Name }

// fields are the settings under Magnum's names, those that are given.
func (s Settings) fields() map[string]any {
	out := map[string]any{}
	v := reflect.ValueOf(s)
	for n := range v.NumField() {
		value := v.Field(n)
		if value.IsZero() {
			continue
		}
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		out[v.Type().Field(n).Tag.Get("magnum")] = value.Interface()
	}
	return out
}

// desired is a template as Magnum shall have it, but for its image.
func (f *File) desired(t Template) map[string]any {
	out := f.Spec.Defaults.fields()
	for name, value := range t.Settings.fields() {
		out[name] = value
	}
	labels := map[string]string{}
	for _, from := range []map[string]string{f.Spec.Defaults.Labels, t.Settings.Labels} {
		for key, value := range from {
			labels[key] = value
		}
	}
	out["labels"], out["name"], out["coe"], out["tags"] = labels, f.NameOf(t), "kubernetes", f.Mark()
	return out
}
