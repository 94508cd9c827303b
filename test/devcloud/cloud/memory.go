package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Memory is what processes have in memory, in bytes.
type Memory struct {
	// Resident is all of it.
	Resident int64
	// Own is the part that is no page of a file: programs and libraries are shared
	// by processes, and the kernel drops them when it must.
	Own int64
}

// MemoryOf is that of a process, nothing if there is none.
func MemoryOf(pid int) Memory {
	var pages, resident, shared int64
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if _, err := fmt.Sscan(string(text), &pages, &resident, &shared); err != nil {
		return Memory{}
	}
	size := int64(unix.Getpagesize())
	return Memory{resident * size, (resident - shared) * size}
}

// Memory is that of the processes inside with a text in their command line,
// together.
func (c *Cloud) Memory(text string) (sum Memory, err error) {
	inside, runs := c.running()
	if !runs {
		return sum, fmt.Errorf("no devcloud runs in %s: make devcloud-up", c.dir)
	}
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", inside.pid))
	if err != nil {
		return sum, err
	}
	folders, err := filepath.Glob("/proc/[0-9]*")
	for _, f := range folders {
		if other, _ := os.Readlink(f + "/ns/pid"); other != space {
			continue
		}
		line, _ := os.ReadFile(f + "/cmdline")
		pid, no := strconv.Atoi(filepath.Base(f))
		if no != nil || !strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), text) {
			continue
		}
		one := MemoryOf(pid)
		sum.Resident, sum.Own = sum.Resident+one.Resident, sum.Own+one.Own
	}
	return sum, err
}
