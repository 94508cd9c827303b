package target

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestAFolderWithoutHardLinks is told as that: its number is that of a lack of rights.
func TestAFolderWithoutHardLinks(t *testing.T) {
	t.Parallel()
	f := &folder{root: t.TempDir()}
	for code, linked := range map[syscall.Errno]bool{
		syscall.EPERM: false, syscall.ENOSYS: false, syscall.ENOTSUP: false,
		syscall.EACCES: true, syscall.EEXIST: true, syscall.ENOSPC: true,
	} {
		err := told(f.String(), "packs/a", f.cause(unlinkable(&os.LinkError{Op: "link", Old: ".writing-1", New: "a", Err: code})))
		if errors.Is(err, errNoLinks) == linked || !linked && (errors.Is(err, ErrDenied) || !strings.Contains(fault.Remedy(err), "another file system")) {
			t.Errorf("%v: %v (%s)", code, err, fault.Remedy(err))
		}
	}
}
