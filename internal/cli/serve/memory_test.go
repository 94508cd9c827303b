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
	before := mapped()
	if err := forgetStart(); err != nil {
		t.Fatal(err)
	}
	if after := mapped(); after > before/2 {
		t.Errorf("pages of files: %d bytes before and %d after", before, after)
	}
}
