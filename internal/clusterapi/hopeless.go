package clusterapi

import (
	"errors"
	"slices"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
)

// Refusal is why the cloud does not give the cluster another machine, nil if it may: a quota,
// no host with room, a missing image, a refused credential. What is told of the machines in
// lost does not count, because others take their place. The error is one that vain.Refused
// knows.
func (r Report) Refusal(lost []string) error {
	for _, f := range r.Findings {
		ofCloud := slices.Contains([]string{"Nova", "Neutron", "Glance", "Cinder"}, f.Layer()) && f.Ending != cause.Passing
		if !ofCloud && !slices.Contains(blocks(), f.Reason) || slices.ContainsFunc(lost, f.Involves) {
			continue
		}
		return vain.Final(fault.New(f.Object.String(), errors.New(f.Cause), f.Fix+"; then run the same command again"))
	}
	return nil
}
