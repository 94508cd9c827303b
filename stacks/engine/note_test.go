package engine

import (
	"path/filepath"
	"testing"
)

// TestARunOfAnotherEnvironmentKeepsTheNotes of a killed one, whose lock only they tell from that
// of a live run elsewhere.
func TestARunOfAnotherEnvironmentKeepsTheNotes(t *testing.T) {
	t.Parallel()
	const killed, done = 4194303, 4194302 // no machine has so many processes
	folder := filepath.Join(t.TempDir(), "[prod")
	of := func(environment string) notes {
		return (&Engine{options: Options{Folder: folder, Environment: environment}}).notes()
	}
	of("prod").begin(killed, true)
	of("stage").begin(done, true)
	of("stage").end(done, true)
	if !of("prod").has(killed) || of("stage").has(killed) || of("stage").has(done) {
		t.Error("the note of prod is gone, or stage has one")
	}
	of("prod").begin(done, true)
	of("prod").end(done, true)
	if of("prod").has(killed) {
		t.Error("prod has had the lock since, and keeps the note")
	}
}
