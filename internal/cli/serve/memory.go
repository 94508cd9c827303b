package serve

import (
	"debug/elf"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// gcPercent halves what Go lets garbage grow to: what is kept lives long, and
// operators count memory. It costs the API a sixth of its lists a second, and of
// anything else nothing that test/bench/magnum shows.
const gcPercent = 50

// collectOften sets it, unless the operator has set GOGC, and returns what sets
// it back.
func collectOften() (back func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}

// forgetStart gives back the memory that only the start needed: the one binary
// initialises the packages of every other command, which leaves garbage and
// touches some 100 MiB of the program's file. Where a page of the file is used
// again the kernel maps it again (madvise(2), MADV_DONTNEED). That would undo what
// a loader wrote into pages which can no longer be written, so that only a static
// program does it, as Slipway is released.
func forgetStart() error {
	debug.FreeOSMemory()
	if static, err := isStatic(); err != nil || !static {
		return err
	}
	self, err := procfs.Self()
	if err != nil {
		return fmt.Errorf("finding this process: %w", err)
	}
	program, err := self.Executable()
	if err != nil {
		return fmt.Errorf("finding the program's file: %w", err)
	}
	maps, err := self.ProcMaps()
	if err != nil {
		return fmt.Errorf("reading the mappings of this process: %w", err)
	}
	for _, m := range maps {
		if m.Pathname != program || m.Perms.Write {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.StartAddr, m.EndAddr-m.StartAddr, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("giving back the program's pages at %x: %w", m.StartAddr, errno)
		}
	}
	return nil
}

// isStatic says whether this program is as its file has it: at fixed addresses,
// without a loader, and without parts that are written once and then protected.
func isStatic() (bool, error) {
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		return false, fmt.Errorf("reading the program's file: %w", err)
	}
	defer file.Close()
	return file.Type == elf.ET_EXEC && !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool {
		return p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_GNU_RELRO
	}), nil
}
