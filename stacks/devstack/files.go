package devstack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
)

// The service users, which are entries of clouds.yaml too. The API validates tokens with
// the first and can do nothing else; the controllers revoke credentials of deleted
// clusters with the second.
const (
	ServiceUser = "slipway"
	AdminUser   = "slipway-admin"
)

// CloudsFile is the clouds.yaml of the service users.
func (s Settings) CloudsFile() string { return s.path("clouds.yaml") }

// ImagesFile and TemplatesFile are lists for `slipway image sync` and `slipway template
// sync`.
func (s Settings) ImagesFile() string { return s.path("images.yaml") }

// TemplatesFile is the list of cluster templates.
func (s Settings) TemplatesFile() string { return s.path("templates.yaml") }

// Configure writes what the services read: mode 0600, in a folder of mode 0700. A file with
// the same text is not touched.
func (s Settings) Configure() error {
	if s.ServicePassword == "" {
		return fault.Usage("SERVICE_PASSWORD", errors.New("it is empty"), "set it in local.conf")
	}
	config, err := s.k3sConfig()
	if err != nil {
		return err
	}
	clouds, err := s.clouds()
	if err != nil {
		return err
	}
	values, err := s.clusterValues()
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"k3s.yaml": config, "clouds.yaml": clouds, "values.yaml": values} {
		if err := s.Write(name, text); err != nil {
			return err
		}
	}
	return nil
}

// Write writes a file below Dir whole or not at all.
func (s Settings) Write(name, text string) error {
	file := s.path(name)
	if old, err := os.ReadFile(file); err == nil && string(old) == text {
		return nil
	}
	return place(file, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// clouds is a clouds.yaml of the service users.
func (s Settings) clouds() (string, error) {
	entries := map[string]any{}
	for _, user := range []string{ServiceUser, AdminUser} {
		entry := map[string]any{"region_name": s.Region, "auth": map[string]any{"auth_url": s.AuthURL, "username": user, "password": s.ServicePassword,
			"project_name": s.ServiceProject, "user_domain_name": s.ServiceDomain, "project_domain_name": s.ServiceDomain}}
		if s.CA != "" {
			entry["cacert"] = s.CA
		}
		entries[user] = entry
	}
	text, err := yaml.Marshal(map[string]any{"clouds": entries})
	if err != nil {
		return "", fmt.Errorf("clouds.yaml: %w", err)
	}
	return string(text), nil
}

// clusterValues are the values of the chart openstack-cluster for all clusters: their
// machines go out by the host's proxy (row D-23).
func (s Settings) clusterValues() (string, error) {
	values := map[string]any{}
	if s.Proxy.HTTP != "" || s.Proxy.HTTPS != "" {
		values["proxy"] = map[string]any{"httpProxy": s.Proxy.HTTP, "httpsProxy": s.Proxy.HTTPS, "noProxy": s.Proxy.Bypass}
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("values of clusters: %w", err)
	}
	return string(text), nil
}

// NodeImage describes the node image: its name in Glance and its Kubernetes version.
type NodeImage struct{ Name, KubernetesVersion string }

// NodeImage is the image of clusters' machines; bundled is the version of Kubernetes in the
// bundle.
func (s Settings) NodeImage(bundled string) NodeImage {
	version := s.Image.KubernetesVersion
	if s.Image.URL == "" {
		version = bundled
	}
	if !strings.HasPrefix(version, "v") {
		version = "v" + version
	}
	return NodeImage{Name: "slipway-node-" + version, KubernetesVersion: version}
}

// Catalog writes the lists of the node image and of the cluster template.
func (s Settings) Catalog(node NodeImage) error {
	image := map[string]any{"name": node.Name, "kubernetesVersion": node.KubernetesVersion, "visibility": "public"}
	if s.Image.URL == "" {
		image["bundle"], image["format"] = "node", "raw"
		image["os"] = map[string]any{"distro": "debian", "version": "12", "adminUser": "debian"}
	} else {
		image["url"], image["sha256"] = s.Image.URL, s.Image.SHA256
		image["os"] = map[string]any{"distro": s.Image.Distro, "version": s.Image.Version}
	}
	images := map[string]any{"apiVersion": "slipway.sh/v1alpha1", "kind": "Images", "spec": map[string]any{"images": []any{image}}}
	defaults := map[string]any{"externalNetwork": s.PublicNetwork, "flavor": s.Flavor, "masterFlavor": s.Flavor, "networkDriver": "calico", "masterLB": true, "floatingIP": true,
		"public": true, "labels": map[string]string{"octavia_provider": "ovn"}}
	if len(s.NameServers) > 0 {
		defaults["dnsNameserver"] = strings.Join(s.NameServers, ",")
	}
	templates := map[string]any{"apiVersion": "slipway.sh/v1alpha1", "kind": "ClusterTemplates", "metadata": map[string]any{"name": "devstack"}, "spec": map[string]any{
		"defaults":  defaults,
		"templates": []any{map[string]any{"name": TemplateName(node), "kubernetesVersion": node.KubernetesVersion, "image": node.Name}},
	}}
	for name, object := range map[string]any{"images.yaml": images, "templates.yaml": templates} {
		text, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := s.Write(name, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// TemplateName is the name of the cluster template, such as k8s-v1-34-4 (row D-15).
func TemplateName(node NodeImage) string {
	return "k8s-" + strings.ReplaceAll(node.KubernetesVersion, ".", "-")
}
