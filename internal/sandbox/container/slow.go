package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// A slow disk is like one of a worn-out array: bytes and operations per second.
const (
	slowBytes      = 1 << 20
	slowOperations = 40
)

// throttle slows down what a machine does on the disk that has a folder. With cgroup v1, the kernel
// throttles only reads and synchronous writes.
func throttle(folder string) (*specs.LinuxBlockIO, error) {
	major, minor, err := diskOf(folder)
	if err != nil {
		return nil, fmt.Errorf("finding the disk of %s: %w", folder, err)
	}
	limit := func(rate uint64) []specs.LinuxThrottleDevice {
		d := specs.LinuxThrottleDevice{Rate: rate}
		d.Major, d.Minor = int64(major), int64(minor)
		return []specs.LinuxThrottleDevice{d}
	}
	return &specs.LinuxBlockIO{
		ThrottleReadBpsDevice: limit(slowBytes), ThrottleWriteBpsDevice: limit(slowBytes),
		ThrottleReadIOPSDevice: limit(slowOperations), ThrottleWriteIOPSDevice: limit(slowOperations),
	}, nil
}

// diskOf returns the whole disk of a file system: the kernel throttles no partitions.
func diskOf(folder string) (major, minor uint32, err error) {
	var info unix.Stat_t
	if err := unix.Stat(folder, &info); err != nil {
		return 0, 0, err
	}
	major, minor = unix.Major(info.Dev), unix.Minor(info.Dev)
	device := fmt.Sprintf("/sys/dev/block/%d:%d", major, minor)
	if _, err := os.Stat(device); err != nil {
		return 0, 0, err // not on a block device: overlay, tmpfs, btrfs
	}
	if _, err := os.Stat(filepath.Join(device, "partition")); err != nil {
		return major, minor, nil
	}
	text, err := os.ReadFile(filepath.Join(device, "..", "dev"))
	if err == nil {
		_, err = fmt.Sscanf(strings.TrimSpace(string(text)), "%d:%d", &major, &minor)
	}
	return major, minor, err
}
