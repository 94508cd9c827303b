// Package kubeversion holds Kubernetes' rules about its own versions.
package kubeversion

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// skew is how many minor versions kubelets may be behind the API server
// (kubernetes.io/releases/version-skew-policy).
const skew = 3

// CheckUpgrade checks whether a control plane may be upgraded from one Kubernetes
// version to another: to a version that is not older, of the same minor version or the
// next (kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade).
func CheckUpgrade(from, to string) error {
	old, err := version.ParseGeneric(from)
	if err != nil {
		return fmt.Errorf("reading the running version: %w", err)
	}
	wanted, err := version.ParseGeneric(to)
	if err != nil {
		return fmt.Errorf("reading the wanted version: %w", err)
	}
	switch {
	case wanted.LessThan(old):
		return fmt.Errorf("version %s is older than %s; Kubernetes cannot be downgraded", wanted, old)
	case wanted.Major() != old.Major(), wanted.Minor() > old.Minor()+1:
		return fmt.Errorf("version %s does not follow %s: an upgrade cannot skip a minor version", wanted, old)
	}
	return nil
}

// AtLeast tells whether a version is of this minor version or a later one. One that cannot
// be read is not.
func AtLeast(given string, major, minor uint) bool {
	v, err := version.ParseGeneric(given)
	return err == nil && (v.Major() > major || v.Major() == major && v.Minor() >= minor)
}

// CheckSkew checks whether a cluster of one version may have kubelets of another.
func CheckSkew(cluster, group string) error {
	plane, err := version.ParseGeneric(cluster)
	if err != nil {
		return fmt.Errorf("reading the cluster's version: %w", err)
	}
	nodes, err := version.ParseGeneric(group)
	if err != nil {
		return fmt.Errorf("reading the group's version: %w", err)
	}
	if nodes.Major() != plane.Major() || nodes.Minor() > plane.Minor() || plane.Minor()-nodes.Minor() > skew {
		return fmt.Errorf("nodes of version %s do not fit a control plane of version %s", nodes, plane)
	}
	return nil
}

// Older reports whether a version is older than another.
func Older(one, other string) (bool, error) {
	a, err := version.ParseGeneric(one)
	if err != nil {
		return false, fmt.Errorf("reading version %q: %w", one, err)
	}
	b, err := version.ParseGeneric(other)
	if err != nil {
		return false, fmt.Errorf("reading version %q: %w", other, err)
	}
	return a.LessThan(b), nil
}

// IsMinor reports whether a version names no patch: 1.34 or v1.34.
func IsMinor(given string) bool {
	given = strings.TrimPrefix(given, "v")
	major, minor, ok := strings.Cut(given, ".")
	if !ok {
		return false
	}
	_, noMajor := strconv.ParseUint(major, 10, 32)
	_, noMinor := strconv.ParseUint(minor, 10, 32)
	return noMajor == nil && noMinor == nil
}

// IsPreview reports whether a version comes before its release: an alpha, a beta or a
// release candidate.
func IsPreview(given string) bool {
	v, err := version.ParseSemantic(given)
	return err == nil && v.PreRelease() != ""
}

// Newest returns the newest of some versions that is of a minor version such as v1.34, as it
// is written there; "" if there is none. It takes previews only if they are allowed.
func Newest(minor string, versions []string, previews bool) string {
	wanted, err := version.ParseGeneric(minor)
	if err != nil {
		return ""
	}
	var best string
	var newest *version.Version
	for _, text := range versions {
		v, err := version.ParseSemantic(text)
		if err != nil || v.Major() != wanted.Major() || v.Minor() != wanted.Minor() || v.PreRelease() != "" && !previews {
			continue
		}
		if newest == nil || newest.LessThan(v) {
			best, newest = text, v
		}
	}
	return best
}
