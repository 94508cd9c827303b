// Package preflight checks an environment against a snapshot of its cloud before
// anything is created, and chooses what the environment file leaves open. The
// package is pure: the same inputs give the same findings.
package preflight

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Level is the severity of a finding.
type Level string

// The levels. An error stops the command, a warning does not, an info says what was
// chosen and why.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Info    Level = "info"
)

// Finding is one result of a check.
type Finding struct {
	// ID is the ID of the check, for --skip-check and docs/operations/preflight.md.
	ID     string `json:"id"`
	Level  Level  `json:"level"`
	Object string `json:"object"`
	Cause  string `json:"cause"`
	Remedy string `json:"remedy,omitempty"`
}

// Input is what the checks look at.
type Input struct {
	Environment *config.Environment
	Snapshot    *cloud.Snapshot
	Bundle      Bundle
	// LocalSeed is what this machine has for a local seed; nil if that was not asked.
	LocalSeed *LocalSeed
	// Catalog is why the Magnum API cannot be in Keystone's catalog; nil if it can, or if nobody asked.
	Catalog error
	// Images are the images of spec.images.
	Images []manifest.Image
	// Steps are the steps that create resources; names derive from them.
	Steps []string
	// Now is the time that expiries are compared with.
	Now time.Time
	// Skip are the IDs of checks whose findings are left out.
	Skip []string
}

// Bundle is what is known about the bundle.
type Bundle struct {
	Dir string
	// Kubernetes is the version on its nodes, Architecture that of its machines as
	// Nova names it.
	Kubernetes, Architecture string
	// NodeImage is the SHA-256 of its node image.
	NodeImage string
	// Problem says why there is no bundle; empty when there is one.
	Problem string
	// Missing are the names of required items that it lacks.
	Missing []string
}

// Choices are the IDs of the cloud's resources that the environment names or leaves
// open. What could not be chosen is empty, and a finding says why.
type Choices struct {
	// ExternalNetworkID is the network of the router's gateway.
	ExternalNetworkID   string `json:"externalNetworkID,omitempty"`
	ExternalNetworkName string `json:"externalNetworkName,omitempty"`
	// FloatingNetworkID is the network of the seed's floating IP, FloatingIPID an
	// existing floating IP.
	FloatingNetworkID string `json:"floatingNetworkID,omitempty"`
	FloatingIPID      string `json:"floatingIPID,omitempty"`
	// NetworkMTU is the MTU of the existing network in bytes; 0 is unknown.
	NetworkMTU int `json:"networkMTU,omitempty"`
	// NetworkID and SubnetID are those of an existing network.
	NetworkID             string `json:"networkID,omitempty"`
	SubnetID              string `json:"subnetID,omitempty"`
	ProvisioningNetworkID string `json:"provisioningNetworkID,omitempty"`
	FlavorID              string `json:"flavorID,omitempty"`
	FlavorName            string `json:"flavorName,omitempty"`
	// ImageID is the seed's image in the cloud. If empty, an image is to be
	// uploaded: the one of spec.images named ListedImage, or the bundle's.
	ImageID     string `json:"imageID,omitempty"`
	ListedImage string `json:"listedImage,omitempty"`
	// BringPayload says that the seed's image is not the bundle's: k3s, images and tools
	// are brought to the machine.
	BringPayload bool `json:"bringPayload,omitempty"`
	// SSHUser is the login user of the seed's image.
	SSHUser string `json:"sshUser"`
	// Roles of the application credential.
	Roles []string `json:"roles"`
	// AvailabilityZoneHints for network and router; none if the cloud does not
	// have the extension.
	AvailabilityZoneHints []string `json:"availabilityZoneHints,omitempty"`
	// NetworkCIDRs are the address ranges of the existing network, FloatingCIDRs
	// those of floating IPs, as far as the project sees them.
	NetworkCIDRs  []string `json:"networkCIDRs,omitempty"`
	FloatingCIDRs []string `json:"floatingCIDRs,omitempty"`
	// LoadBalancerProvider is the Octavia provider of clusters' load balancers.
	LoadBalancerProvider string `json:"loadBalancerProvider,omitempty"`
	// Management is nil if there is no management cluster.
	Management *ManagementChoices `json:"management,omitempty"`
}

// Result is the outcome of preflight.
type Result struct {
	Findings []Finding `json:"findings"`
	Choices  Choices   `json:"choices"`
	// Quota compares what the environment needs with what is free.
	Quota []Need `json:"quota"`
	// Capacity is what the quotas leave for growth.
	Capacity Capacity `json:"capacity"`
	// Snapshot is what was checked, so that nobody lists it again.
	Snapshot *cloud.Snapshot `json:"-"`
}

// Run runs all checks.
func Run(in Input) Result {
	r := &run{Input: in, spec: &in.Environment.Spec, seed: &in.Environment.Spec.Seed, result: Result{Snapshot: in.Snapshot}}
	for _, check := range Checks() {
		r.id = check.ID
		check.run(r)
	}
	r.result.Findings = slices.DeleteFunc(r.result.Findings, func(f Finding) bool { return slices.Contains(in.Skip, f.ID) })
	rank := map[Level]int{Error: 0, Warning: 1, Info: 2}
	slices.SortStableFunc(r.result.Findings, func(x, y Finding) int { return cmp.Compare(rank[x.Level], rank[y.Level]) })
	return r.result
}

// run is one run of all checks.
type run struct {
	Input
	spec   *config.Spec
	seed   *config.Seed
	id     string
	result Result
	flavor *cloud.FlavorInfo
	// nodes are the machines of the management cluster that do not exist yet.
	nodes []machines
}

func (r *run) find(level Level, object, remedy, cause string, args ...any) {
	r.result.Findings = append(r.result.Findings, Finding{ID: r.id, Level: level, Object: object, Cause: fmt.Sprintf(cause, args...), Remedy: remedy})
}

// Refused reports whether any finding is an error.
func (r Result) Refused() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == Error })
}

// Err is nil, or all error findings as faults that end the program with
// fault.ExitPreflight.
func (r Result) Err() error {
	var errs []error
	for _, f := range r.Findings {
		if f.Level == Error {
			errs = append(errs, &fault.Fault{Exit: fault.ExitPreflight, Object: f.Object, Remedy: f.Remedy, Err: fmt.Errorf("%s (check %s)", f.Cause, f.ID)})
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &fault.Fault{Exit: fault.ExitPreflight, Err: errors.Join(errs...)}
}

// CheckSkips refuses IDs that no check has.
func CheckSkips(ids []string) error {
	var known []string
	for _, check := range Checks() {
		known = append(known, check.ID)
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return fault.Usage("--skip-check "+id, errors.New("there is no such check"), "use one of "+strings.Join(known, ", "))
		}
	}
	return nil
}
