package magnum

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tick is the unit of times in /proc (proc_pid_stat(5), USER_HZ).
const tick = 10 * time.Millisecond

// usage is what /proc says of a process.
type usage struct {
	name   string
	parent int
	// used is its processor time.
	used time.Duration
}

// usageOf reads it; a process that has ended has none.
func usageOf(t *testing.T, pid string) (u usage, lives bool) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return u, false
	}
	// "pid (name) state ppid …"; a name may hold anything but ends at the last parenthesis.
	_, rest, _ := strings.Cut(string(text), " (")
	end := strings.LastIndex(rest, ") ")
	fields := strings.Fields(rest[end+1:])
	var user, system int64
	if _, err := fmt.Sscan(strings.Join([]string{fields[1], fields[11], fields[12]}, " "), &u.parent, &user, &system); err != nil {
		t.Fatal(err)
	}
	u.name, u.used = rest[:end], time.Duration(user+system)*tick
	return u, true
}

// family are this process and those that it started, by their ids.
func family(t *testing.T) map[int]usage {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]usage{}
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			t.Fatal(err)
		}
		if u, lives := usageOf(t, filepath.Base(folder)); lives && (pid == os.Getpid() || u.parent == os.Getpid()) {
			all[pid] = u
		}
	}
	return all
}

// processors is the processor time that this process and those that it started
// have used, by program.
func processors(t *testing.T) map[string]time.Duration {
	t.Helper()
	used := map[string]time.Duration{}
	for _, u := range family(t) {
		used[u.name] += u.used
	}
	return used
}

// peakOf is the memory that a process had at most, in bytes; 0 if it has ended.
func peakOf(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
