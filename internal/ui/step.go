package ui

import "github.com/slipway-sh/slipway/internal/event"

// Step does work as one step whose progress is shown in a mode of NewProgress; do returns how
// it ended.
func Step(mode string, streams Streams, name, message string, do func(*event.Step) (string, error)) error {
	progress, err := NewProgress(mode, streams)
	if err != nil {
		return err
	}
	defer progress.Close()
	step := event.Start(progress, name, message)
	end, err := do(step)
	step.End(end, err)
	return err
}
