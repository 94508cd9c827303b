package serve

import (
	"runtime/debug"
	"slices"
	"testing"

	"github.com/prometheus/procfs"
)

// It is not parallel: other tests would map pages meanwhile. A program that has a
// loader, such as one for the race detector, must go on as well.
func TestForgetStart(t *testing.T) {
	self, err := procfs.Self()
	if err != nil {
		t.Fatal(err)
	}
	mapped := func() uint64 {
		status, err := self.NewStatus()
		if err != nil {
			t.Fatal(err)
		}
		return status.RssFile
	}
	static := builtWith(t, "CGO_ENABLED", "0") && builtWith(t, "-buildmode", "exe")
	before := mapped()
	if err := forgetStart(); err != nil {
		t.Fatal(err)
	}
	if after := mapped(); static == (after > before/2) {
		t.Errorf("pages of files, in a program that is static: %t: %d bytes before and %d after", static, before, after)
	}
}

// builtWith says whether the test's program was built with a setting.
func builtWith(t *testing.T, key, value string) bool {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("the program does not tell how it was built")
	}
	return slices.Contains(info.Settings, debug.BuildSetting{Key: key, Value: value})
}
