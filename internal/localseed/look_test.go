package localseed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	dockerJSON = `{"MemTotal":16000000000,"CgroupVersion":"2","SecurityOptions":["name=seccomp,profile=builtin","name=rootless"]}`
	podmanJSON = `{"host":{"cgroupVersion":"v1","memTotal":8589934592,"security":{"rootless":false}}}`
)

func TestARuntimeIsFoundAsKindDoes(t *testing.T) {
	t.Parallel()
	missing := exec.ErrNotFound
	denied := errors.New("exit status 1: permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock")
	for name, test := range map[string]struct {
		wanted Runtime
		says   map[Runtime]any
		want   Host
	}{
		"none":                       {"", nil, Host{Problem: "none of [docker nerdctl podman finch] is installed"}},
		"the wanted one is missing":  {Podman, map[Runtime]any{Docker: dockerJSON}, Host{Problem: "none of [podman] is installed"}},
		"docker":                     {"", map[Runtime]any{Docker: dockerJSON, Podman: podmanJSON}, Host{Runtime: Docker, CgroupV2: true, Rootless: true, MemoryMiB: 15258}},
		"podman":                     {"", map[Runtime]any{Podman: podmanJSON}, Host{Runtime: Podman, MemoryMiB: 8192}},
		"podman, which is wanted":    {Podman, map[Runtime]any{Docker: dockerJSON, Podman: podmanJSON}, Host{Runtime: Podman, MemoryMiB: 8192}},
		"docker without rights":      {"", map[Runtime]any{Docker: denied}, Host{Runtime: Docker, Problem: denied.Error(), NoRights: true}},
		"no rights, but podman":      {"", map[Runtime]any{Docker: denied, Podman: podmanJSON}, Host{Runtime: Podman, MemoryMiB: 8192}},
		"a daemon that is not there": {"", map[Runtime]any{Docker: `{"ServerErrors":["Cannot connect to the Docker daemon"]}`}, Host{Runtime: Docker, Problem: "Cannot connect to the Docker daemon"}},
		"words instead of JSON":      {Podman, map[Runtime]any{Podman: "hello"}, Host{Runtime: Podman, Problem: "podman info answers no JSON: invalid character 'h' looking for beginning of value"}},
	} {
		looker := Looker{Wanted: test.wanted, Run: func(_ context.Context, program string, _ ...string) (string, error) {
			switch says := test.says[Runtime(program)].(type) {
			case string:
				return says, nil
			case error:
				return "", says
			}
			return "", fmt.Errorf("%s: %w", program, missing)
		}}
		if got := looker.Runtime(t.Context()); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestLimitsAndTheClusterAreLookedAt(t *testing.T) {
	t.Parallel()
	sys := t.TempDir()
	if err := os.MkdirAll(filepath.Join(sys, "fs/inotify"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sys, "fs/inotify/max_user_instances"), []byte("128\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, found := range map[string]*Cluster{"": nil, "demo@2": {"demo@2", true}, "-": {"", true}} {
		looker := Looker{Sys: sys, Run: func(context.Context, string, ...string) (string, error) { return dockerJSON, nil },
			Find: func(_ context.Context, r Runtime, name string) (*Cluster, error) {
				if r != Docker || name != "slipway-demo" {
					t.Errorf("asked %s for %s", r, name)
				}
				return found, nil
			}}
		h := looker.Look(t.Context(), Name("demo"))
		if h.InotifyInstances != 128 || h.InotifyWatches != 0 || h.Cluster != want {
			t.Errorf("%+v, want cluster %q", h, want)
		}
	}
}

func TestModulesThatPodmanWouldMissAreToldBefore(t *testing.T) {
	t.Parallel()
	sys := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(sys, "fs/inotify"), 0o700), os.WriteFile(filepath.Join(sys, "fs/inotify/max_user_instances"), []byte("512\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		info, sys, modules string
		want               bool
	}{
		"podman":                      {podmanJSON, sys, filepath.Join(sys, "none"), true},
		"they are there":              {podmanJSON, sys, sys, false},
		"podman in a virtual machine": {podmanJSON, filepath.Join(sys, "none"), filepath.Join(sys, "none"), false},
		"docker makes the folder":     {dockerJSON, sys, filepath.Join(sys, "none"), false},
	} {
		looker := Looker{Sys: test.sys, Modules: test.modules, Find: func(context.Context, Runtime, string) (*Cluster, error) { return nil, nil },
			Run: func(_ context.Context, program string, _ ...string) (string, error) {
				if (program == "podman") != (test.info == podmanJSON) {
					return "", exec.ErrNotFound
				}
				return test.info, nil
			}}
		if h := looker.Look(t.Context(), Name("demo")); h.NoModules != test.want {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
