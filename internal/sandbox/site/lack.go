package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// Lack is something that the host does not have.
type Lack struct {
	// What is missing, Without what does not work without it, and Remedy what
	// to do.
	What, Without, Remedy string
	// Fatal says that no machine can run.
	Fatal bool
}

// NoMachines is what does not work without what is fatal.
const NoMachines = "Machines cannot run; with --driver none all APIs work and servers become ACTIVE without a machine."

// LoadModule says how a part of the kernel is had.
func LoadModule(name string) string {
	return fmt.Sprintf("Load it (modprobe %s) or use a kernel that has it.", name)
}

// Modprobe loads a module, and tells whether it could.
func Modprobe(name string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "modprobe", name).Run() == nil
}

// MissingNetworks looks for what networks need: network namespaces, which it tries in a
// folder, and bridges that filter.
func MissingNetworks(dir string) []Lack {
	var all []Lack
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil && !Modprobe("br_netfilter") {
		all = append(all, Lack{What: "br_netfilter", Without: "Security groups let everything through; the rest works.", Remedy: LoadModule("br_netfilter")})
	}
	space := filepath.Join(dir, "space")
	if err := errors.Join(namespace.Create(space), namespace.Delete(space)); err != nil {
		all = append(all, Lack{What: fmt.Sprintf("network namespaces (%v)", err), Without: NoMachines,
			Remedy: "Run outside of a container, or in a privileged one.", Fatal: true})
	}
	return all
}

// TryFolder makes a folder below the sandbox's to try things in, which the caller
// removes.
func TryFolder(dir string) (string, []Lack) {
	err := os.MkdirAll(dir, 0o700)
	try := ""
	if err == nil {
		try, err = os.MkdirTemp(dir, "try-")
	}
	if err != nil {
		return "", []Lack{{What: "the folder " + dir, Without: NoMachines, Remedy: err.Error(), Fatal: true}}
	}
	return try, nil
}

// Root is the lack of root rights, if they are.
func Root() []Lack {
	if os.Geteuid() == 0 {
		return nil
	}
	return []Lack{{What: "root rights", Without: NoMachines, Remedy: "Run it with sudo, or choose --driver none.", Fatal: true}}
}
