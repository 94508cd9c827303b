package component

import (
	"fmt"
	"maps"
	"slices"
)

// Pair is a rule of what goes together, told for the version that a bundle has of its first part.
type Pair struct {
	Part, Version string
	// With is the other part, and Tested the version that a bundle has of it.
	With, Tested string
	// From and To are the first and the last minor version of With that go together with
	// Version. No From means that all earlier ones do, no To that all later ones do.
	From, To string
	Why      string
}

// Pairs are the rules by which Compatible judges, for people.
func Pairs() []Pair {
	var pairs []Pair
	v := DefaultVersions()
	parts := v.parts()
	for _, r := range rules() {
		p := Pair{Part: r.part, Version: *parts[r.part], With: r.with, Tested: *parts[r.with], Why: r.why}
		p.From, p.To = span(p.Tested, func(with string) bool { return r.fits(p.Version, with) })
		pairs = append(pairs, p)
	}
	return pairs
}

// minors is more minor versions than a part has of one major version.
const minors = 100

// span finds the minor versions that fit, of the major version that is tested: beyond it no
// project has promised anything.
func span(tested string, fits func(version string) bool) (from, to string) {
	var major int
	_, _ = fmt.Sscanf(tested, "v%d", &major) // a version of the catalogue
	var fit []int
	for minor := range minors {
		if fits(fmt.Sprintf("v%d.%d.0", major, minor)) {
			fit = append(fit, minor)
		}
	}
	if len(fit) == 0 {
		return "", ""
	}
	if first := fit[0]; first > 0 || !fits(fmt.Sprintf("v%d.%d.0", major-1, minors-1)) {
		from = fmt.Sprintf("v%d.%d", major, first)
	}
	if last := fit[len(fit)-1]; last < minors-1 {
		to = fmt.Sprintf("v%d.%d", major, last)
	}
	return from, to
}

// Stride is how many minor versions of parts one upgrade may take.
type Stride struct {
	Parts  []string
	Minors int
	Why    string
}

// Strides are the rules by which CheckUpgrade judges, for people.
func Strides() []Stride {
	var all []Stride
	for _, part := range slices.Sorted(maps.Keys(strides())) {
		rule := strides()[part]
		if i := slices.IndexFunc(all, func(s Stride) bool { return s.Why == rule.why }); i >= 0 {
			all[i].Parts = append(all[i].Parts, part)
			continue
		}
		all = append(all, Stride{[]string{part}, rule.minors, rule.why})
	}
	return all
}
