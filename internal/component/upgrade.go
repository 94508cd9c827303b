package component

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Release is a set of versions that a Slipway brings, by part: the labels of providers,
// "cert-manager", "openstack-resource-controller", "kubernetes", "k3s".
type Release struct {
	Name     string
	Versions map[string]string
}

// stride is how many minor versions of a part one upgrade may take, and who says so.
type stride struct {
	minors int
	why    string
}

// strides is the table of what one upgrade may take.
func strides() map[string]stride {
	one := func(why string) stride { return stride{1, why} }
	capi := stride{3, "Cluster API migrates its objects over three minor versions"}
	return map[string]stride{
		"kubernetes":               one("Kubernetes cannot skip a minor version"),
		"k3s":                      one("Kubernetes cannot skip a minor version"),
		"cert-manager":             one("cert-manager is upgraded one minor version at a time"),
		"cluster-api":              capi,
		"bootstrap-kubeadm":        capi,
		"control-plane-kubeadm":    capi,
		"infrastructure-openstack": one("versions of CAPO's API come and go with its minor versions"),
	}
}

// CheckUpgrade checks whether parts may go from their versions to others in one step. Parts
// that are new are fine, and so are earlier patch versions. All refusals come at once, each with the versions to stop at.
func CheckUpgrade(from, to map[string]string) error {
	var refused []error
	for _, part := range slices.Sorted(maps.Keys(to)) {
		old, new := from[part], to[part]
		if !semver.IsValid(old) || !semver.IsValid(new) {
			continue
		}
		object := fmt.Sprintf("%s %s → %s", part, old, new)
		rule, known := strides()[part]
		switch {
		case semver.Compare(semver.MajorMinor(new), semver.MajorMinor(old)) < 0:
			refused = append(refused, fault.Usage(object, errors.New("a downgrade would leave objects that nobody can read"),
				"use the Slipway that you upgraded with, or a newer one; slipway undo takes back an upgrade from its backup"))
		case known && (semver.Major(old) != semver.Major(new) || minor(new)-minor(old) > rule.minors):
			refused = append(refused, fault.Usage(object, fmt.Errorf("the step is too long: %s", rule.why),
				"upgrade in steps, each with the Slipway and the bundle that have it: "+strings.Join(stops(old, new, rule.minors), ", then ")))
		}
	}
	return errors.Join(refused...)
}

// stops are the minor versions between two versions at which an upgrade has to stop, and the
// last version.
func stops(from, to string, minors int) (all []string) {
	if semver.Major(from) == semver.Major(to) {
		for next := minor(from) + minors; next < minor(to); next += minors {
			all = append(all, fmt.Sprintf("%s.%d", semver.Major(from), next))
		}
	}
	return append(all, to)
}

// Path returns the releases to install one after the other to come to the last one from the
// versions that are there: the fewest of those that are known. If they do not lead there, the
// error says which steps are missing.
func Path(from map[string]string, to Release, known []Release) ([]Release, error) {
	type reached struct {
		release Release
		by      []Release
	}
	all := append(slices.Clone(known), to)
	queue, seen := []reached{{Release{Versions: from}, nil}}, map[string]bool{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		// The last first: as few releases as there may be, and the newest of them.
		for _, next := range slices.Backward(all) {
			if seen[next.Name] || CheckUpgrade(at.release.Versions, next.Versions) != nil {
				continue
			}
			seen[next.Name] = true
			by := append(slices.Clone(at.by), next)
			if next.Name == to.Name {
				return by, nil
			}
			queue = append(queue, reached{next, by})
		}
	}
	return nil, CheckUpgrade(from, to.Versions)
}
