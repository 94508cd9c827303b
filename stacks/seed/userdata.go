package seed

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// UserData is the seed's cloud-config. It contains the private host key and passwords of
// registries, so it is a secret. Field order does not matter to cloud-init; equal settings
// give equal bytes.
func UserData(s Settings) (string, error) {
	files, err := Files(s)
	if err != nil {
		return "", err
	}
	config := map[string]any{
		"hostname":          s.Name,
		"preserve_hostname": false,
		"manage_etc_hosts":  true,
		"disable_root":      true,
		"ssh_pwauth":        false,
		"ssh_deletekeys":    true,
		"ssh_keys":          map[string]string{"ed25519_private": s.HostKey.Private, "ed25519_public": s.HostKey.Public},
		"write_files":       entries(files),
		"runcmd": [][]string{
			{"systemctl", "daemon-reload"},
			{"sysctl", "--quiet", "--ignore", "--load", "/etc/sysctl.d/90-slipway-seed.conf"},
			{"systemctl", "enable", "slipway-data.service"},
			{"sh", "-c", startK3s},
		},
	}
	if len(s.AuthorizedKeys) > 0 {
		config["ssh_authorized_keys"] = s.AuthorizedKeys
	}
	if len(s.Authorities) > 0 {
		config["ca_certs"] = map[string]any{"trusted": s.Authorities}
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("user data: %w", err)
	}
	return "#cloud-config\n" + string(text), nil
}

// startK3s starts k3s if the image has it; else it is brought over SSH.
const startK3s = "if [ -e /etc/systemd/system/k3s.service ]; then systemctl enable k3s.service && systemctl start --no-block k3s.service; fi"

func entries(files []File) []map[string]string {
	list := make([]map[string]string, len(files))
	for i, f := range files {
		list[i] = map[string]string{"path": f.Path, "permissions": f.Mode, "owner": "root:root", "content": f.Content}
	}
	return list
}
