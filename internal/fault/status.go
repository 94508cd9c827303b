package fault

import (
	"errors"
	"fmt"
)

// errStatus is the end of a program that has said itself what was wrong.
var errStatus = errors.New("it said why")

// Status hands on the exit status of another program, such as a command on the
// seed; 0 is no error.
func Status(status int) error {
	if status == 0 {
		return nil
	}
	return &Fault{Exit: Exit(status), Err: fmt.Errorf("exit status %d: %w", status, errStatus)}
}

// Told reports whether nothing needs to be printed about an error.
func Told(err error) bool { return errors.Is(err, errStatus) }
