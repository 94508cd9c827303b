package localseed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Runtime is a program that runs containers, by its name.
type Runtime string

// The runtimes that kind knows.
const (
	Docker  Runtime = "docker"
	Podman  Runtime = "podman"
	Nerdctl Runtime = "nerdctl"
	Finch   Runtime = "finch"
)

// runtimes are tried in kind's order.
func runtimes() []Runtime { return []Runtime{Docker, Nerdctl, Podman, Finch} }

// lookTime is how long a runtime may take to tell of itself.
const lookTime = 20 * time.Second

// Host is what the local seed finds on this machine.
type Host struct {
	// Runtime is the one that is used; empty if there is none.
	Runtime Runtime `json:"runtime,omitempty"`
	// Problem is what the runtime, or the search for one, said.
	Problem string `json:"problem,omitempty"`
	// NoRights says that the runtime is there, but may not be used.
	NoRights bool `json:"noRights,omitempty"`
	Rootless bool `json:"rootless,omitempty"`
	CgroupV2 bool `json:"cgroupV2"`
	// MemoryMiB is what containers can have, of the machine or the runtime's virtual
	// machine; 0 is unknown.
	MemoryMiB int `json:"memoryMiB,omitempty"`
	// InotifyInstances and InotifyWatches are fs.inotify.max_user_instances and
	// max_user_watches; 0 is unknown, as where containers run in a virtual machine.
	InotifyInstances int `json:"inotifyInstances,omitempty"`
	InotifyWatches   int `json:"inotifyWatches,omitempty"`
	// NoModules says that the folder of kernel modules is missing, which kind mounts: Docker makes
	// a folder that is missing, Podman refuses.
	NoModules bool `json:"noModules,omitempty"`
	// Cluster is the owner of a cluster with the seed's name, "-" if it does not say;
	// empty if there is no such cluster.
	Cluster string `json:"cluster,omitempty"`
}

// Looker looks at a machine. Its functions are those of this machine, or of a test.
type Looker struct {
	// Wanted is the runtime that the user chose; empty means the first one that works.
	Wanted Runtime
	// Run runs a program; its error is an *exec.ExitError, or exec.ErrNotFound.
	Run func(ctx context.Context, program string, args ...string) (string, error)
	// Sys is the folder /proc/sys, Modules the folder /lib/modules.
	Sys, Modules string
	// Find finds the cluster of a name.
	Find func(ctx context.Context, runtime Runtime, name string) (*Cluster, error)
}

// NewLooker returns a Looker at this machine.
func NewLooker(wanted Runtime) Looker {
	return Looker{Wanted: wanted, Sys: "/proc/sys", Modules: "/lib/modules",
		Run: func(ctx context.Context, program string, args ...string) (string, error) {
			return runProgram(ctx, nil, program, args...)
		},
		Find: func(ctx context.Context, r Runtime, name string) (*Cluster, error) {
			return Kind{Runtime: r}.Find(ctx, name)
		}}
}

// Look looks for a runtime, and what a cluster of the name finds there.
func (l Looker) Look(ctx context.Context, name string) Host {
	h := l.Runtime(ctx)
	if h.Runtime == "" || h.Problem != "" {
		return h
	}
	h.InotifyInstances = l.number("fs/inotify/max_user_instances")
	h.InotifyWatches = l.number("fs/inotify/max_user_watches")
	if h.Runtime == Podman && h.InotifyInstances > 0 { // and so no virtual machine
		_, err := os.Stat(l.Modules)
		h.NoModules = errors.Is(err, os.ErrNotExist)
	}
	switch found, err := l.Find(ctx, h.Runtime, name); {
	case err != nil:
		h.Problem = err.Error()
	case found != nil && found.Owner == "" && found.Finished:
		h.Cluster = "-"
	case found != nil:
		h.Cluster = found.Owner
	}
	return h
}

// Runtime returns the first runtime that works; else the first that is there, with what
// keeps it from working.
func (l Looker) Runtime(ctx context.Context) Host {
	candidates := runtimes()
	if l.Wanted != "" {
		candidates = []Runtime{l.Wanted}
	}
	var broken *Host
	for _, r := range candidates {
		h, err := l.ask(ctx, r)
		switch {
		case err == nil:
			return h
		case errors.Is(err, exec.ErrNotFound):
			continue
		case broken == nil:
			h = Host{Runtime: r, Problem: err.Error(), NoRights: refused(err.Error())}
			broken = &h
		}
	}
	if broken != nil {
		return *broken
	}
	return Host{Problem: fmt.Sprintf("none of %v is installed", candidates)}
}

// refused recognizes in a runtime's words that the user may not use it.
func refused(words string) bool {
	words = strings.ToLower(words)
	return strings.Contains(words, "permission denied") || strings.Contains(words, "operation not permitted") || strings.Contains(words, "access denied")
}

// ask asks a runtime about itself. docker and nerdctl answer in one form, podman in another.
func (l Looker) ask(ctx context.Context, r Runtime) (Host, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	format := "{{json .}}"
	if r == Podman {
		format = "json"
	}
	text, err := l.Run(ctx, string(r), "info", "--format", format)
	if err != nil {
		return Host{}, err
	}
	if r == Podman {
		return podmanInfo(text)
	}
	return dockerInfo(r, text)
}

func dockerInfo(r Runtime, text string) (Host, error) {
	var info struct {
		MemTotal        int64
		CgroupVersion   string
		SecurityOptions []string
		// ServerErrors are why the daemon does not answer; the exit status may be 0.
		ServerErrors []string
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return Host{}, fmt.Errorf("%s info answers no JSON: %w", r, err)
	}
	if len(info.ServerErrors) > 0 {
		return Host{}, errors.New(strings.Join(info.ServerErrors, "; "))
	}
	h := Host{Runtime: r, CgroupV2: info.CgroupVersion == "2", MemoryMiB: int(info.MemTotal >> 20)}
	for _, option := range info.SecurityOptions {
		h.Rootless = h.Rootless || strings.Contains(option, "rootless")
	}
	return h, nil
}

func podmanInfo(text string) (Host, error) {
	var info struct {
		Host struct {
			CgroupVersion string `json:"cgroupVersion"`
			MemTotal      int64  `json:"memTotal"`
			Security      struct {
				Rootless bool `json:"rootless"`
			} `json:"security"`
		} `json:"host"`
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return Host{}, fmt.Errorf("podman info answers no JSON: %w", err)
	}
	return Host{Runtime: Podman, CgroupV2: info.Host.CgroupVersion == "v2", MemoryMiB: int(info.Host.MemTotal >> 20), Rootless: info.Host.Security.Rootless}, nil
}

func (l Looker) number(name string) int {
	text, err := os.ReadFile(filepath.Join(l.Sys, name))
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return n
}

// runProgram runs a program and returns what it prints; its error has what the program said
// last.
func runProgram(ctx context.Context, in io.Reader, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var out, failed bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &failed
	if err := cmd.Run(); err != nil {
		if line := last(failed.String()); line != "" {
			return out.String(), fmt.Errorf("%w: %s", err, line)
		}
		return out.String(), fmt.Errorf("%s: %w", program, err)
	}
	return out.String(), nil
}
