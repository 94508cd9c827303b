package contract_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/drivers"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// driverVariable chooses what stands behind the servers of the in-process sandbox:
// nothing, or "qemu". Then servers are virtual machines, and the suite runs again in
// namespaces of its own, so that no network or process of the host is touched; this
// needs root.
const (
	driverVariable = "SLIPWAY_CONTRACT_DRIVER"
	insideVariable = "SLIPWAY_CONTRACT_INSIDE"
)

// isolated runs the suite in namespaces of its own if it is to have machines and is not
// there yet; then code is its result.
func isolated() (code int, done bool, err error) {
	if os.Getenv(driverVariable) == "" {
		return 0, false, nil
	}
	if os.Getenv(insideVariable) != "" {
		return 0, false, enter()
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return failed.ExitCode(), true, nil
	}
	return 0, true, err
}

// enter makes the namespaces usable: mounts stay inside, /proc shows what runs here, and
// loopback is up.
func enter() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(loopback)
}

// machines is the driver of that name with its files in a folder, and what ends all.
func machines(driver, dir string, events event.Sink) (machine.Host, func() error, error) {
	switch driver {
	case "":
		return nil, func() error { return nil }, nil
	case "qemu":
	default:
		return nil, nil, fmt.Errorf("%s=%s: only qemu is known", driverVariable, driver)
	}
	place, err := site.Open(site.Options{Dir: filepath.Join(dir, "machines"), RunDir: filepath.Join(dir, "run"), Events: events})
	if err != nil {
		return nil, nil, err
	}
	virtual, err := qemu.OpenAt(place, "auto")
	if err != nil {
		return nil, nil, err
	}
	host := drivers.New(place, driver, map[string]drivers.Driver{driver: virtual})
	return host, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return host.Shutdown(ctx)
	}, nil
}

// reachable waits for the cloud's address, which belongs to a network that it makes
// after its start.
func reachable(address string) error {
	target, err := url.Parse(address)
	for end := time.Now().Add(time.Minute); err == nil; time.Sleep(20 * time.Millisecond) {
		conn, failed := net.DialTimeout("tcp", target.Host, time.Second)
		if failed == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			err = failed
		}
	}
	return err
}
