package recovery

import (
	"maps"
	"slices"
	"time"

	"golang.org/x/mod/semver"
)

// clockTolerance is how far clocks may be apart: Keystone's tokens, certificates and
// Machine health checks bear a minute.
const clockTolerance = time.Minute

// versions: the controllers of the new cluster are those of the backup. Newer ones of
// the same minor are told; others may decide differently, so they fail.
func (e Evidence) versions() Check {
	c := Check{ID: "versions", Claim: "the controllers are those of the backup"}
	level := Warned
	for _, name := range slices.Sorted(maps.Keys(e.Snapshot.Controllers)) {
		was, is := e.Snapshot.Controllers[name], e.Controllers[name]
		c.Checked++
		switch {
		case is == was:
		case is == "":
			level = Refuted
			c.find(name, "use the bundle of Slipway "+e.Snapshot.Slipway, "the new management cluster has none, the backup is of %s", was)
		case semver.IsValid(is) && semver.IsValid(was) && semver.MajorMinor(is) == semver.MajorMinor(was) && semver.Compare(is, was) > 0:
			c.find(name, "", "it is %s, newer than %s of the backup", is, was)
		default:
			level = Refuted
			c.find(name, "use the bundle of Slipway "+e.Snapshot.Slipway+", and upgrade after the rebuild", "it is %s, the backup is of %s", is, was)
		}
	}
	return c.settled(level)
}

// clocks: ours, the cloud's and that of the backup agree.
func (e Evidence) clocks() Check {
	c := Check{ID: "clocks", Claim: "the clocks of this machine, the cloud and the backup agree", Checked: 2}
	const remedy = "set the clock of this machine by NTP, then run the same command again"
	if off := e.Cloud.ClockOffset; off.Abs() > clockTolerance {
		c.find("clock", remedy, "the cloud's is %s ahead of ours", off.Round(time.Second))
	}
	if ahead := e.Snapshot.Taken.Sub(e.Now); ahead > clockTolerance {
		c.find("clock", remedy, "the backup is from %s in the future", ahead.Round(time.Second))
	}
	return c.settled(Refuted)
}
