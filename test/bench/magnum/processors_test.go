package magnum

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tick is the unit of times in /proc (proc_pid_stat(5), USER_HZ).
const tick = 10 * time.Millisecond

// processors is the processor time that this process and those that it started
// have used, by program.
func processors(t *testing.T) map[string]time.Duration {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]time.Duration{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid …"; a name may hold anything but ends at the last parenthesis.
		head, rest, _ := strings.Cut(string(text), " (")
		end := strings.LastIndex(rest, ") ")
		fields := strings.Fields(rest[end+1:])
		if self := fmt.Sprint(os.Getpid()); head != self && fields[1] != self {
			continue
		}
		var user, system int64
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			t.Fatal(err)
		}
		used[rest[:end]] += time.Duration(user+system) * tick
	}
	return used
}
