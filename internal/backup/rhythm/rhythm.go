// Package rhythm is when something is due again and again: at an interval, or at the times
// of a cron expression, in UTC.
package rhythm

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Rhythm is when something is due. The zero Rhythm is never.
type Rhythm struct {
	every time.Duration
	times cron.Schedule
	text  string
}

// Every is due when so much time has passed.
func Every(interval time.Duration) Rhythm { return Rhythm{every: interval, text: interval.String()} }

// Cron reads an expression of five fields (minute, hour, day of the month, month, day of the
// week), or a name such as @daily.
func Cron(text string) (Rhythm, error) {
	// The library would load a time zone, which a container need not have, and take intervals.
	if strings.Contains(text, "TZ=") || strings.HasPrefix(text, "@every") {
		return Rhythm{}, errors.New("a cron expression has no time zone and no interval here")
	}
	times, err := cron.ParseStandard(text)
	if err != nil {
		return Rhythm{}, err
	}
	r := Rhythm{times: times, text: text}
	if r.Next(time.Unix(0, 0)).IsZero() {
		return Rhythm{}, errors.New("there is no such time, in no year")
	}
	return r, nil
}

// Parse reads what Text wrote: one of both, the other is "".
func Parse(every, cronText string) (Rhythm, error) {
	if cronText != "" {
		r, err := Cron(cronText)
		if err != nil {
			return r, fmt.Errorf("cron is %q: %w", cronText, err)
		}
		return r, nil
	}
	interval, err := time.ParseDuration(every)
	if err != nil || interval < time.Second {
		return Rhythm{}, fmt.Errorf("every is %q, not a duration of a second or more", every)
	}
	return Every(interval), nil
}

// Next is when it is due after a time. The zero time is that of what never was: it is due at
// once.
func (r Rhythm) Next(after time.Time) time.Time {
	switch {
	case after.IsZero():
		return after
	case r.times != nil:
		return r.times.Next(after.UTC())
	}
	return after.Add(r.every)
}

// looked is how many times of a cron expression are compared: a year of days.
const looked = 400

// Shortest and Longest are the times between two that follow each other, from a time on.
func (r Rhythm) Shortest(from time.Time) time.Duration {
	shortest, _ := r.gaps(from)
	return shortest
}

// Longest is the longest time between two that follow each other, from a time on: for so long
// it is no fault that there is no new one.
func (r Rhythm) Longest(from time.Time) time.Duration {
	_, longest := r.gaps(from)
	return longest
}

func (r Rhythm) gaps(from time.Time) (shortest, longest time.Duration) {
	if r.times == nil {
		return r.every, r.every
	}
	former := r.Next(from)
	for range looked {
		next := r.Next(former)
		if next.IsZero() {
			break
		}
		gap := next.Sub(former)
		if longest = max(longest, gap); shortest == 0 || gap < shortest {
			shortest = gap
		}
		former = next
	}
	return shortest, longest
}

// Calendar is the cron expression, "" if it is an interval.
func (r Rhythm) Calendar() string {
	if r.times == nil {
		return ""
	}
	return r.text
}

// String is the interval or the expression.
func (r Rhythm) String() string { return r.text }
