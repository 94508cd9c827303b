package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneHoldsAFile, the next is told who, and has it after the first.
func TestOneHoldsAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, []byte(strings.Repeat("who had it long ago ", 9)), 0o644); err != nil {
		t.Fatal(err)
	}
	first, err := Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	var held *Held
	if _, err := Hold(path); !errors.As(err, &held) || !strings.HasPrefix(err.Error(), fmt.Sprintf("process %d since 2", os.Getpid())) || strings.Contains(err.Error(), "long ago") {
		t.Errorf("while it is held: %v", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := Hold(path)
	if err != nil {
		t.Fatalf("after it was held: %v", err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
	if _, err := Hold(filepath.Join(path, "below")); err == nil || errors.As(err, &held) {
		t.Errorf("a file below a file: %v", err)
	}
}
