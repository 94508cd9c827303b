package witness

import (
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi/within"
	"github.com/slipway-sh/slipway/internal/kube"
)

// way reaches workload clusters as the seed does, or directly if the seed is not there.
func (w *Witness) way(on *kube.Cluster) within.Way {
	machine, err := w.Machine()
	if err != nil {
		machine = nil
	}
	return target.Way(on, machine)
}
