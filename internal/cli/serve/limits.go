package serve

import (
	"fmt"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// atLeast refuses a flag with less than it needs.
func atLeast[T int | int32 | int64 | time.Duration](flag string, value, least T) error {
	if value >= least {
		return nil
	}
	return fault.Usage(flag, fmt.Errorf("%v is less than %v", value, least), fmt.Sprintf("give %v or more", least))
}
