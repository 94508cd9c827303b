package serve

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/addons/openstackapi"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Flags of how many requests an API serves at a time, with kube-apiserver's names.
const flagReads, flagWrites = "max-requests-inflight", "max-mutating-requests-inflight"

func placesFlags(f *pflag.FlagSet, reads, writes *int) {
	const others = " that a replica serves at a time, at most half of them for one project; others wait up to 5s, then get 503"
	f.IntVar(reads, flagReads, openstackapi.ReadsAtOnce, "reads"+others)
	f.IntVar(writes, flagWrites, openstackapi.WritesAtOnce, "writes"+others)
}

func checkPlaces(reads, writes int) error {
	return errors.Join(atLeast("--"+flagReads, reads, 1), atLeast("--"+flagWrites, writes, 1))
}

// atLeast refuses a flag with less than it needs.
func atLeast[T int | int32 | int64 | time.Duration](flag string, value, least T) error {
	if value >= least {
		return nil
	}
	return fault.Usage(flag, fmt.Errorf("%v is less than %v", value, least), fmt.Sprintf("give %v or more", least))
}
