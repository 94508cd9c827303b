package seed

import (
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

const registryDir = "/etc/rancher/k3s/registries.d/"

// registryFiles are k3s' registries.yaml and the certificates that it names.
// Format: https://docs.k3s.io/installation/private-registry
func registryFiles(registries map[string]Registry) []File {
	if len(registries) == 0 {
		return nil
	}
	mirrors, configs := map[string]any{}, map[string]any{}
	var files []File
	for _, host := range slices.Sorted(maps.Keys(registries)) {
		r := registries[host]
		if len(r.Mirrors) > 0 {
			mirror := map[string]any{"endpoint": r.Mirrors}
			if len(r.Rewrite) > 0 {
				mirror["rewrite"] = r.Rewrite
			}
			mirrors[host] = mirror
		}
		config := map[string]any{}
		if r.Username != "" {
			config["auth"] = map[string]string{"username": r.Username, "password": r.Password}
		}
		if r.Authority != "" {
			path := registryDir + host + ".crt"
			config["tls"] = map[string]string{"ca_file": path}
			files = append(files, File{Path: path, Mode: plain, Content: r.Authority, Restarts: true})
		}
		if len(config) > 0 {
			configs[host] = config
		}
	}
	text, err := yaml.Marshal(map[string]any{"mirrors": mirrors, "configs": configs})
	if err != nil { // maps of strings can always be encoded
		panic(err)
	}
	return append(files, File{Path: "/etc/rancher/k3s/registries.yaml", Mode: secret, Content: string(text), Restarts: true})
}
