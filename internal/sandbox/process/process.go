// Package process knows processes that outlive the one that started them: by number and
// start time, so that a later process with the same number is never taken for one.
package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ID is a process. The zero value is none.
type ID struct {
	PID int
	// Started is its start time, in ticks since the host's boot.
	Started string
}

// Of returns the ID of a process that runs.
func Of(pid int) ID { return ID{pid, startTime(pid)} }

// Runs tells whether the process still runs.
func (p ID) Runs() bool { return p.PID > 0 && p.Started != "" && startTime(p.PID) == p.Started }

// Kill ends the process, if it still runs.
func (p ID) Kill() {
	if p.Runs() {
		_ = unix.Kill(p.PID, unix.SIGKILL)
	}
}

// Wait returns when the process has ended, or the context has; it reports whether the
// process has.
func (p ID) Wait(ctx context.Context) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for p.Runs() {
		select {
		case <-ctx.Done():
			return !p.Runs()
		case <-tick.C:
		}
	}
	return true
}

// Find returns a process that has the argument, or none.
func Find(argument string) ID {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), argument) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line))); err == nil {
			return Of(pid)
		}
	}
	return ID{}
}

// startTime is field 22 of proc_pid_stat(5); empty when there is no process.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name, in parentheses, may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}
