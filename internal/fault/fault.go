// Package fault holds the errors that users read. Each names the object, the cause
// and the remedy, and decides the exit code of the program.
package fault

import (
	"context"
	"errors"
	"fmt"
)

// Exit is the exit code of the program. The codes are part of the interface
// and listed in docs/reference/exit-codes.md.
type Exit int

// The exit codes.
const (
	ExitOK          Exit = 0
	ExitFailure     Exit = 1
	ExitUsage       Exit = 2
	ExitPreflight   Exit = 3
	ExitPartial     Exit = 4
	ExitDeadline    Exit = 5
	ExitInterrupted Exit = 130
)

// ErrInterrupted is the cause of a context that a signal cancelled.
var ErrInterrupted = errors.New("interrupted")

// Meaning is the documented meaning of one exit code.
type Meaning struct {
	Code Exit
	Name string
	Text string
}

// Meanings lists every exit code in ascending order; the reference page is
// generated from it.
func Meanings() []Meaning {
	return []Meaning{
		{ExitOK, "ok", "The command succeeded."},
		{ExitFailure, "failure", "Something failed; the error names the object, the cause and the fix."},
		{ExitUsage, "usage", "The command line or a configuration file is wrong. Nothing was started."},
		{ExitPreflight, "preflight refused", "A preflight check failed. Nothing was created."},
		{ExitPartial, "partly done", "Part of the work is done and kept. Run the same command again to resume."},
		{ExitDeadline, "deadline passed", "The time of --timeout is over. The error names what the command waited for and the last cause. Completed work is kept. Run the same command again to resume."},
		{ExitInterrupted, "interrupted", "A signal stopped the command. Run it again to resume."},
	}
}

// Fault is an error for users. Object is what it is about, Err the cause, Remedy
// what to do.
type Fault struct {
	Exit   Exit
	Object string
	Remedy string
	Err    error
}

// Error joins object and cause; the caller prints the remedy.
func (f *Fault) Error() string {
	if f.Object == "" {
		return f.Err.Error()
	}
	return fmt.Sprintf("%s: %v", f.Object, f.Err)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// New returns a fault that ends the program with ExitFailure.
func New(object string, cause error, remedy string) *Fault {
	return &Fault{Exit: ExitFailure, Object: object, Remedy: remedy, Err: cause}
}

// Usage returns a fault of the command line or of a configuration file.
func Usage(object string, cause error, remedy string) *Fault {
	return &Fault{Exit: ExitUsage, Object: object, Remedy: remedy, Err: cause}
}

// ExitCode returns the exit code of an error: that of a deadline, else of an
// interrupt, else of the most specific fault in the chain, else ExitFailure.
func ExitCode(err error) Exit {
	var f *Fault
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, new(Deadline)):
		return ExitDeadline
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &f):
		return f.Exit
	}
	return ExitFailure
}

// All returns the errors that are joined in err, in order; a single error is a list
// of one. It unwraps a fault that only gives a join an exit code; other wrapping
// around a join is kept.
func All(err error) []error {
	if err == nil {
		return nil
	}
	if f, ok := err.(*Fault); ok && f.Object == "" && f.Remedy == "" {
		return All(f.Err)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, All(e)...)
	}
	return all
}

// Remedy returns the first remedy found in the chain of err, or "".
func Remedy(err error) string {
	for err != nil {
		var f *Fault
		if !errors.As(err, &f) {
			return ""
		}
		if f.Remedy != "" {
			return f.Remedy
		}
		err = f.Err
	}
	return ""
}
