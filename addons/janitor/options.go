package janitor

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Options are the settings of the janitor.
type Options struct {
	// DefaultVolumesPolicy is "delete" or "keep", for clusters without the
	// annotation.
	DefaultVolumesPolicy string
	// RetryDelay is the longest pause between two attempts for one cluster; the
	// first are shorter.
	RetryDelay time.Duration
	// AttemptTime is how long one attempt may take.
	AttemptTime time.Duration
	// Workers is how many clusters are cleaned up at the same time. At most half of them work on
	// one cloud, so that a cloud that hangs leaves room for others.
	Workers int
	// DryRun makes every attempt a dry run (DryRunAnnotation).
	DryRun bool
	// UserAgent is put before gophercloud's user agent.
	UserAgent string
	// Wrap, if set, is put around the transport of all calls to clouds.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// DefaultOptions are those of upstream, if upstream has them.
func DefaultOptions() Options {
	return Options{DefaultVolumesPolicy: policyDelete, RetryDelay: time.Minute, AttemptTime: 2 * time.Minute, Workers: 10}
}

// Validate returns everything that is wrong with the options.
func (o Options) Validate() error {
	var wrong []error
	if o.DefaultVolumesPolicy != policyDelete && o.DefaultVolumesPolicy != policyKeep {
		wrong = append(wrong, fault.Usage("default volumes policy", fmt.Errorf("%q is unknown", o.DefaultVolumesPolicy), "use delete or keep"))
	}
	if o.RetryDelay < firstDelay {
		wrong = append(wrong, fault.Usage("retry delay", fmt.Errorf("%s is too short", o.RetryDelay), "give at least "+firstDelay.String()))
	}
	if o.AttemptTime <= 0 {
		wrong = append(wrong, fault.Usage("attempt time", fmt.Errorf("%s is not a positive duration", o.AttemptTime), "give a few minutes, such as 5m"))
	}
	if o.Workers < 2 {
		wrong = append(wrong, fault.Usage("workers", fmt.Errorf("%d is too few: one cluster can hang", o.Workers), "give 2 or more"))
	}
	return errors.Join(wrong...)
}
