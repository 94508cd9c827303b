package e2e

import (
	"os"
	"testing"
)

// programLimit is in bytes. The program has 172 MB; `make size` says who brings them.
const programLimit = 177_000_000

// TestProgramIsSmall notices a library that brings what no command needs, and a build without
// the tags of the Makefile, which has 12 MB more.
func TestProgramIsSmall(t *testing.T) {
	info, err := os.Stat(builtProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > programLimit {
		t.Errorf("bin/slipway has %d bytes, more than %d: see make size and docs/design/dependencies.md", info.Size(), programLimit)
	}
}
