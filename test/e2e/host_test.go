package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
)

// hostState is what a program could leave on a host, by kind.
func hostState(t *testing.T) map[string][]string {
	t.Helper()
	state := map[string][]string{
		"mounts": lines(t, "/proc/self/mounts"),
		"routes": lines(t, "/proc/net/route"),
		"sysctl": lines(t, "/proc/sys/fs/inotify/max_user_instances", "/proc/sys/net/ipv4/ip_forward"),
		"files":  paths(t, "/run/slipway", "/run/netns/*", "/sys/fs/cgroup/slipway-*", "/sys/fs/cgroup/*/slipway-*"),
		"loops":  nil,
		"tables": nil,
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		addresses, _ := link.Addrs()
		for _, a := range addresses {
			state["addresses"] = append(state["addresses"], link.Name+" "+a.String())
		}
		state["links"] = append(state["links"], link.Name)
	}
	for _, backing := range paths(t, "/sys/block/loop*/loop/backing_file") {
		state["loops"] = append(state["loops"], lines(t, backing)...)
	}
	tables, err := new(nftables.Conn).ListTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		state["tables"] = append(state["tables"], table.Name)
	}
	for _, process := range paths(t, "/proc/[0-9]*/cmdline") {
		text, _ := os.ReadFile(process) // it may have ended
		name, _, _ := strings.Cut(string(text), "\x00")
		if name != "" && name != "openstack" {
			state["processes"] = append(state["processes"], name)
		}
	}
	for kind := range state {
		slices.Sort(state[kind])
	}
	return state
}

func lines(t *testing.T, files ...string) []string {
	t.Helper()
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all = append(all, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	return all
}

func paths(t *testing.T, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// compareHosts fails the test for each kind of thing that differs. What ends by
// itself has a moment for it.
func compareHosts(t *testing.T, when string, before, after map[string][]string) {
	t.Helper()
	for range 20 {
		if slices.Equal(before["processes"], after["processes"]) {
			break
		}
		time.Sleep(100 * time.Millisecond)
		after = hostState(t)
	}
	for kind := range before {
		if !slices.Equal(before[kind], after[kind]) {
			t.Errorf("%s: %s\nbefore %q\nafter  %q", when, kind, before[kind], after[kind])
		}
	}
}
