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

// gcPercent halves the garbage that Go lets accumulate: most memory here is
// long-lived, and memory matters to operators. It costs the API a sixth of its
// list requests per second, and nothing else that test/bench/magnum can measure.
const gcPercent = 50

// collectOften sets it, unless the operator has set GOGC, and returns a function
// that restores the old value.
func collectOften() (back func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}

// forgetStart releases the memory that only the start needed: the binary
// initialises the packages of all commands, which leaves garbage and touches about
// 100 MiB of the program's file. If such a page is used again, the kernel maps it
// again (madvise(2), MADV_DONTNEED). In a dynamically linked program that would
// undo the relocations in pages that are read-only by now, so only a static program
// does it; released binaries are static.
func forgetStart() error {
	debug.FreeOSMemory()
	if static, err := isStatic(); err != nil || !static {
		return err
	}
	self, err := procfs.Self()
	if err != nil {
		return fmt.Errorf("reading this process: %w", err)
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
			return fmt.Errorf("releasing the program's pages at %x: %w", m.StartAddr, errno)
		}
	}
	return nil
}

// isStatic reports whether this program is mapped as in its file: at fixed
// addresses, without a loader, and without segments that are relocated and then
// made read-only.
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
