package component

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/slipway-sh/slipway/internal/fault"
)

// rule is one pair of parts that upstream supports in some versions only.
type rule struct {
	part, with string
	// fits tells whether the two versions go together.
	fits func(part, with string) bool
	why  string
}

// rules is the table of what goes together, from the projects' own support
// statements.
func rules() []rule {
	return []rule{
		{"capo", "orc", func(capo, orc string) bool {
			return semver.Compare(capo, "v0.13.0") < 0 || semver.Compare(orc, "v2.0.0") >= 0
		},
			"CAPO manages images by the resources of ORC 2 since v0.13"},
		{"capo", "cluster-api", func(capo, capi string) bool {
			if semver.Compare(capo, "v0.14.0") >= 0 {
				return semver.Compare(capi, "v1.11.0") >= 0
			}
			return semver.Compare(capi, "v1.12.0") < 0
		}, "CAPO v0.14 is built for the v1beta2 contract of Cluster API v1.11 and later, earlier ones for v1beta1"},
		{"cluster-api", "kubernetes", func(capi, kubernetes string) bool {
			// A release supports six minor versions, the newest of which is known at its time.
			newest := minor(capi) + 22
			return minor(kubernetes) <= newest && minor(kubernetes) > newest-6
		}, "a release of Cluster API supports six minor versions of Kubernetes"},
		{"cloud-provider-openstack", "kubernetes", func(provider, kubernetes string) bool { return minor(provider) == minor(kubernetes) },
			"the cloud provider is released for one minor version of Kubernetes"},
		{"cri-tools", "kubernetes", func(tools, kubernetes string) bool { return minor(tools) == minor(kubernetes) },
			"cri-tools are released with each minor version of Kubernetes"},
		{"etcd", "kubernetes", func(etcd, kubernetes string) bool {
			return minor(kubernetes) < 34 || semver.Compare(etcd, "v3.6.0") >= 0
		},
			"kubeadm of Kubernetes v1.34 sets options that etcd has since v3.6"},
		{"k3s", "cluster-api", func(k3s, capi string) bool {
			newest := minor(capi) + 22
			return minor(k3s) <= newest && minor(k3s) > newest-5
		}, "Cluster API runs on five minor versions of Kubernetes as its management cluster"},
	}
}

// minor is the second number of a version.
func minor(version string) int {
	var major, minor int
	_, _ = fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &minor) // checked before
	return minor
}

// Compatible checks every pair of the table and returns an error for each that
// does not go together (row S-23).
func (v Versions) Compatible() error {
	var wrong []error
	parts := v.parts()
	for _, r := range rules() {
		part, with := *parts[r.part], *parts[r.with]
		if !r.fits(part, with) {
			wrong = append(wrong, fault.Usage(fmt.Sprintf("%s %s with %s %s", r.part, part, r.with, with),
				errors.New("do not go together: "+r.why), fmt.Sprintf("choose another version of %s or of %s with --set", r.part, r.with)))
		}
	}
	return errors.Join(wrong...)
}
