package devstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChainsOfK3sGo has a table as iptables prints it after k3s has ended: what is of others
// stays, a comment with words is one argument, and a chain goes when nothing leads to it.
func TestChainsOfK3sGo(t *testing.T) {
	t.Parallel()
	const table = `-P INPUT DROP
-N DOCKER
-N KUBE-FIREWALL
-N KUBE-SERVICES
-A INPUT -m comment --comment "kubernetes health check service ports" -j KUBE-SERVICES
-A INPUT -s 10.42.0.0/16 -m comment --comment slipway-devstack -j ACCEPT
-A OUTPUT -j KUBE-FIREWALL
-A DOCKER -m comment --comment "not KUBE-SERVICES" -j RETURN
-A KUBE-SERVICES -m comment --comment "to \"it\"" -j KUBE-FIREWALL
`
	var did []string
	run := func(_ context.Context, program string, args ...string) (string, error) {
		if program == "ip6tables" || args[2] == "mangle" {
			return "", errors.New("not in this kernel")
		}
		if args[3] == "-S" {
			return map[string]string{"filter": table}[args[2]], nil
		}
		did = append(did, strings.Join(args[2:], "|"))
		return "", nil
	}
	if err := unchain(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	want := []string{"filter|-D|INPUT|-m|comment|--comment|kubernetes health check service ports|-j|KUBE-SERVICES", "filter|-D|OUTPUT|-j|KUBE-FIREWALL",
		"filter|-F|KUBE-FIREWALL", "filter|-F|KUBE-SERVICES", "filter|-X|KUBE-FIREWALL", "filter|-X|KUBE-SERVICES"}
	if !slices.Equal(did, want) {
		t.Errorf("%q", did)
	}
	refused := func(_ context.Context, _ string, args ...string) (string, error) {
		if args[3] == "-S" {
			return table, nil
		}
		return "", errors.New("refused")
	}
	if err := unchain(t.Context(), refused); err == nil || !strings.Contains(err.Error(), "table filter of iptables") {
		t.Errorf("refused: %v", err)
	}
}

// TestContainersAreFoundByTheirPrograms also where k3s found its programs unpacked before.
func TestContainersAreFoundByTheirPrograms(t *testing.T) {
	t.Parallel()
	all := []process{{10, 1, unpacked + "/1234/bin/containerd-shim-runc-v2"}, {11, 10, "/pause"}, {12, 1, "/opt/stack/data/slipway/k3s/data/1/bin/k3s"},
		{13, 1, "/usr/bin/containerd-shim-runc-v2"}, {14, 13, "/pause"}, {15, 1, unpacked + "-of-others/bin/k3s"}}
	if got := below(all, "/opt/stack/data/slipway/k3s/", unpacked); !slices.Equal(got, []int{10, 11, 12}) {
		t.Errorf("%v", got)
	}
}

// TestAContainerOfSomebodyElseIsLeftAlone: the path of its program is one of its own files.
func TestAContainerOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	for name, mounts := range map[string]string{"self": "mnt:[1]", "10": "mnt:[1]", "11": "mnt:[2]"} {
		folder := filepath.Join(proc, name)
		if err := errors.Join(os.MkdirAll(filepath.Join(folder, "ns"), 0o755), os.Symlink(mounts, filepath.Join(folder, "ns/mnt")), os.Symlink(unpacked+"/1/bin/k3s", filepath.Join(folder, "exe")),
			os.WriteFile(filepath.Join(folder, "stat"), []byte("1 (k3s) S 1 1"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := processes(proc)
	if got := below(all, unpacked); err != nil || !slices.Equal(got, []int{10}) {
		t.Errorf("%v, %v", got, err)
	}
}
