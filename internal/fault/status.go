package fault

import (
	"errors"
	"fmt"
)

// errStatus marks the failure of a program that has printed its error itself.
var errStatus = errors.New("the error is printed above")

// Status passes on the exit status of another program, such as a command on the
// seed; 0 is no error.
func Status(status int) error {
	if status == 0 {
		return nil
	}
	return &Fault{Exit: Exit(status), Err: fmt.Errorf("exit status %d: %w", status, errStatus)}
}

// Told reports whether nothing needs to be printed about an error.
func Told(err error) bool { return errors.Is(err, errStatus) }
