package seed

import (
	"net/netip"
	"slices"
	"strings"
)

// Variables are the environment variables of programs that use the proxy. Excluded from it
// are the metadata service, the machine itself, names of Services, and the cluster's own
// networks of pods and Services: the list of SCS (S-57), with the names that k3s and
// kubeadm use.
func (p Proxy) Variables(own ...netip.Prefix) map[string]string {
	direct := append(slices.Clone(p.Bypass), "localhost", "127.0.0.0/8", "169.254.169.254", "169.254.169.254/32", "fd00:ec2::254/128",
		".svc", ".svc.cluster", ".svc.cluster.local", ".cluster.local")
	for _, network := range own {
		direct = append(direct, network.String())
	}
	variables := map[string]string{}
	for name, value := range map[string]string{"HTTP_PROXY": p.HTTP, "HTTPS_PROXY": p.HTTPS, "NO_PROXY": strings.Join(direct, ",")} {
		if value != "" {
			variables[name] = value
		}
	}
	return variables
}
