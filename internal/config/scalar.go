package config

import (
	"fmt"
	"time"
)

// File is the path of a file or folder. In an environment file, a relative path is
// relative to the file that sets it; once loaded, the path is absolute.
type File string

// Duration is a duration in Go's notation, "1h30m".
type Duration time.Duration

// UnmarshalText reads Go's notation.
func (d *Duration) UnmarshalText(text []byte) error {
	value, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 1h30m", text)
	}
	*d = Duration(value)
	return nil
}

// MarshalText writes Go's notation.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Seconds is the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }
