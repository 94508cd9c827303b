package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func bind(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }

// Self is the path of this program. It leads to the same program after its file
// was replaced.
func Self() (string, error) { return "/proc/self/exe", nil }

// Alive reports whether a process is running that was there at a time. One that
// started later only has the same PID.
func Alive(pid int, at time.Time) bool {
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return false
	}
	if state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		if _, after, ok := strings.Cut(string(state), ") "); ok && strings.HasPrefix(after, "Z") {
			return false // dead, and not yet waited for
		}
	}
	return !info.ModTime().After(at.Add(2 * time.Second))
}

// Secret is a file without a name, in memory only, and the path by which a child
// opens it that has it as file descriptor 3.
func Secret(text []byte) (file *os.File, path string, err error) {
	fd, err := unix.MemfdCreate("secret", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, "", fmt.Errorf("creating a file in memory: %w", err)
	}
	file = os.NewFile(uintptr(fd), "secret")
	if _, err := file.Write(text); err != nil {
		file.Close()
		return nil, "", fmt.Errorf("writing a secret to memory: %w", err)
	}
	return file, "/proc/self/fd/3", nil
}
