//go:build !linux

package throwaway

import (
	"errors"
	"os/exec"
	"runtime"

	"github.com/slipway-sh/slipway/internal/fault"
)

// withOwnEtc refuses: the bundle's k3s is a program for Linux.
func withOwnEtc(string, string, []string) (*exec.Cmd, error) {
	return nil, fault.New("API server of k3s on "+runtime.GOOS, errors.New("it runs on Linux only"), "run the same command on a machine with Linux")
}
