package console

import (
	"strconv"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// Capacity is what the project's quotas allow.
type Capacity struct {
	Quotas []Quota
	// Room is how many more machines fit, by group of the management cluster.
	Room []Room
	// Checks are the findings of preflight.
	Checks []Check
}

// Quota is one of the project's. Limit and Left are -1 if there is no limit.
type Quota struct {
	Service, Resource string
	// Left is what is neither used nor needed, Short how much of what is needed is missing.
	Used, Limit, Needed, Left, Short int
}

// Room is how many more machines like those of a group fit beside what is needed; -1 if no quota
// limits them. Bound is the quota that ends first.
type Room struct {
	Group, Flavor string
	Machines      int
	Bound         string
}

// Check is a finding of preflight; its Level is "error", "warning" or "info".
type Check struct{ Level, ID, Object, Cause, Fix string }

// Health is Broken if something is missing, Changing if nearly all is used.
func (q Quota) Health() Health {
	switch {
	case q.Short > 0:
		return Broken
	case q.Limit >= 0 && q.Left*10 <= q.Limit:
		return Changing
	}
	return Well
}

// State is a word for the quota's health.
func (q Quota) State() words.Text {
	switch q.Health() {
	case Broken:
		return words.T("%d missing", q.Short)
	case Changing:
		return words.T("nearly used up")
	}
	return words.T("ok")
}

// Count is a number of a quota: -1 is no limit.
func (Quota) Count(n int) words.Text { return count(n) }

// Health is Changing if no machine fits.
func (r Room) Health() Health {
	if r.Machines == 0 {
		return Changing
	}
	return Well
}

// Count is how many fit.
func (r Room) Count() words.Text { return count(r.Machines) }

func count(n int) words.Text {
	if n < 0 {
		return words.T("no limit")
	}
	return words.Said(strconv.Itoa(n))
}

// Health is the shape of the finding's level.
func (c Check) Health() Health {
	switch c.Level {
	case "error":
		return Broken
	case "warning":
		return Changing
	}
	return Well
}

// Word is the finding's level for people.
func (c Check) Word() words.Text {
	switch c.Level {
	case "error":
		return words.T("error")
	case "warning":
		return words.T("warning")
	case "info":
		return words.T("info")
	}
	return words.Said(c.Level)
}
