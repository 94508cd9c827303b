package serve

import (
	"testing"

	"github.com/prometheus/procfs"
)

// It is not parallel: other tests would map pages meanwhile.
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
	static, err := isStatic()
	if err != nil {
		t.Fatal(err)
	}
	before := mapped()
	if err := forgetStart(); err != nil {
		t.Fatal(err)
	}
	if !static {
		t.Skip("the pages of a program with a loader are left alone")
	}
	if after := mapped(); after > before/2 {
		t.Errorf("pages of files: %d bytes before and %d after", before, after)
	}
}
