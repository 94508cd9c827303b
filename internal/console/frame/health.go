package frame

import "github.com/slipway-sh/slipway/internal/console/words"

// NotYet is why a source has nothing to say, without a fault: what it asks is still to come.
type NotYet struct{ Err error }

// Error is the reason.
func (n NotYet) Error() string { return n.Err.Error() }

// Unwrap returns the reason, which may have a fix.
func (n NotYet) Unwrap() error { return n.Err }

// Health is how something is. Pages show it by shape, word and colour.
type Health string

// The values of Health.
const (
	Well     Health = "well"
	Changing Health = "changing"
	Broken   Health = "broken"
	Unknown  Health = "unknown"
)

// Shown is a View of data that was made of a reading.
func Shown[T any](title, what words.Text, r Reading[T], data any) View {
	v := View{Title: title, Trouble: Troubles(what, r), Loading: !r.Known() && r.Err == nil}
	if r.Known() {
		v.Data = data
	}
	return v
}
