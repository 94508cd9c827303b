package restore

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
)

const (
	// patience is how long one object may be refused for a cause that passes: a
	// webhook whose pod just started, an etcd that elects a leader, an API server that
	// learns of a definition later than the one that was asked for the kinds.
	patience = 2 * time.Minute
	// again is the time between two attempts.
	again = 500 * time.Millisecond
	// requestTime bounds one attempt.
	requestTime = 30 * time.Second
)

// patiently does something on a cluster until it succeeds or fails for a cause that does not
// pass.
func patiently(ctx context.Context, on *kube.Cluster, do func() error) error {
	return on.Outlast(ctx, patience, passing, nil, func(context.Context) error { return do() })
}

// passing reports whether a later attempt may succeed.
func passing(err error) bool {
	return apierrors.IsConflict(err) || kube.Unserved(err) || kube.Away(err)
}

// refused is the cause of a refusal with its object, and what to do.
func refused(o *unstructured.Unstructured, err error) error {
	if known := (*fault.Fault)(nil); errors.As(err, &known) {
		return err
	}
	remedy := "see with slipway why what is wrong with the management cluster, then run the same command again: it continues from here"
	switch {
	case apierrors.IsInvalid(err), strings.Contains(err.Error(), "denied the request"), apierrors.IsForbidden(err):
		remedy = "the controllers of this Slipway do not accept the object: use the Slipway version of the backup, or restore without it; nothing was unpaused"
	case strings.Contains(err.Error(), "failed calling webhook"):
		remedy = "the webhook's controller does not answer: see why with slipway why, then run the same command again"
	}
	return fault.New(recovery.Describe(o), err, remedy)
}
