package qemu_test

import (
	"net"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/machinetest"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// pid is the number of the machine's QEMU.
func (c *cloud) pid() int { return process.Find("slipway-" + server).PID }

// taps are the tap devices in the network.
func (c *cloud) taps() []string {
	c.Helper()
	var names []string
	c.must(namespace.Do(c.place.Net.Space(machinetest.Network), func() error {
		links, err := net.Interfaces()
		for _, l := range links {
			if strings.HasPrefix(l.Name, "tap") && !strings.HasPrefix(l.Name, "taprrrr") {
				names = append(names, l.Name)
			}
		}
		return err
	}))
	return names
}
