// Command kube-proxy-launcher starts kube-proxy where the connection tracking
// limit can be read but not written: in a node that is itself a container.
// kube-proxy gives up when it cannot write that limit, so there the launcher
// puts a writable copy over it. Everywhere else it only starts kube-proxy.
package main

import (
	"fmt"
	"os"
	"syscall"
)

const (
	limit  = "/proc/sys/net/netfilter/nf_conntrack_max"
	shadow = "/run/nf_conntrack_max"
	target = "/usr/local/bin/kube-proxy.real"
)

func main() {
	if err := shadowLimit(); err != nil {
		fmt.Fprintln(os.Stderr, "kube-proxy-launcher:", err)
	}
	err := syscall.Exec(target, append([]string{target}, os.Args[1:]...), os.Environ())
	fmt.Fprintln(os.Stderr, "kube-proxy-launcher: starting kube-proxy:", err)
	os.Exit(1)
}

func shadowLimit() error {
	file, err := os.OpenFile(limit, os.O_WRONLY, 0)
	if err == nil {
		return file.Close() // writable: nothing to hide
	}
	value, err := os.ReadFile(limit)
	if err != nil {
		return nil // no connection tracking at all: kube-proxy says it better
	}
	if err := os.WriteFile(shadow, value, 0o644); err != nil {
		return fmt.Errorf("copying the connection tracking limit: %w", err)
	}
	return syscall.Mount(shadow, limit, "", syscall.MS_BIND, "")
}
