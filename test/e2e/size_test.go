package e2e

import (
	"os"
	"testing"
)

// programLimit is in bytes. The program has 172 MB; `make size` says who brings them.
const programLimit = 177_000_000

// TestProgramIsSmall notices a library that brings what no command needs, and a build without the
// tags of the Makefile, with which the program had 186 MB.
func TestProgramIsSmall(t *testing.T) {
	bundleDir(t) // what builds a bundle has built the program
	info, err := os.Stat("../../bin/slipway")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > programLimit {
		t.Errorf("bin/slipway has %d bytes, more than %d: see make size and docs/design/dependencies.md", info.Size(), programLimit)
	}
}
