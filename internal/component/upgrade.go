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

// stride is how many minor versions of a part one upgrade may take, and who says so.
type stride struct {
	minors int
	why    string
}

// strides is the table of what one upgrade may take, by part: the labels of Cluster API's
// providers, "cert-manager", "kubernetes" and "k3s".
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

// Upgraded are the versions of the parts that CheckUpgrade knows, by their names there.
func (v Versions) Upgraded() map[string]string {
	versions := map[string]string{"kubernetes": v.Kubernetes, "k3s": v.K3s, "cert-manager": v.CertManager}
	for _, provider := range Providers(v) {
		versions[provider.Label] = provider.Version
	}
	return versions
}

// CheckUpgrade checks whether parts may go from their versions to others in one step. Parts
// that are new are fine, and so are earlier patch versions. All refusals come at once, each with
// the steps that lead there.
func CheckUpgrade(from, to map[string]string) error {
	var refused []error
	for _, part := range slices.Sorted(maps.Keys(to)) {
		before, after := from[part], to[part]
		if !semver.IsValid(before) || !semver.IsValid(after) {
			continue
		}
		object := fmt.Sprintf("%s %s → %s", part, before, after)
		switch {
		case semver.Compare(semver.MajorMinor(after), semver.MajorMinor(before)) < 0:
			refused = append(refused, fault.Usage(object, errors.New("a downgrade would leave objects that nobody can read"),
				"use the Slipway that you upgraded with, or a newer one; slipway undo takes back an upgrade from its backup"))
		case len(stops(part, before, after)) > 0:
			refused = append(refused, fault.Usage(object, fmt.Errorf("the step is too long: %s", strides()[part].why), told(Steps(from, to))))
		}
	}
	return errors.Join(refused...)
}

// Steps are the upgrades that lead from versions to others, one after the other: the parts that
// have to stop at a minor version, with that version. What has to stop less often stops as late
// as it can. The last step, to all versions, is not among them, so one that may be taken at once
// has none.
func Steps(from, to map[string]string) []map[string]string {
	var most int
	at := map[string][]string{}
	for part, after := range to {
		if semver.IsValid(from[part]) && semver.IsValid(after) {
			at[part] = stops(part, from[part], after)
			most = max(most, len(at[part]))
		}
	}
	var steps []map[string]string
	for n := range most {
		step := map[string]string{}
		for part, versions := range at {
			if i := n - (most - len(versions)); i >= 0 {
				step[part] = versions[i]
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// stops are the minor versions between two versions of a part at which an upgrade has to stop.
func stops(part, from, to string) (all []string) {
	rule, known := strides()[part]
	if !known || semver.Major(from) != semver.Major(to) {
		return nil
	}
	for next := minor(from) + rule.minors; next < minor(to); next += rule.minors {
		all = append(all, fmt.Sprintf("%s.%d", semver.Major(from), next))
	}
	return all
}

// told are steps for people.
func told(steps []map[string]string) string {
	var words []string
	for _, step := range steps {
		var parts []string
		for _, part := range slices.Sorted(maps.Keys(step)) {
			parts = append(parts, part+" "+step[part])
		}
		words = append(words, "first to one with "+strings.Join(parts, " and "))
	}
	return fmt.Sprintf("upgrade in %d steps, each with a Slipway and its bundle: %s, then to this one", len(steps)+1, strings.Join(words, ", "))
}
