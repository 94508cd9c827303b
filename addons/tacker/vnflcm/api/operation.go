package api

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
)

// decide changes an operation that waits for a decision. Of two decisions at the same
// time one is too late; a notification that is ticked off meanwhile does no harm.
func (c *call) decide(verb string, change func(*v1alpha1.VNFOperation)) (*v1alpha1.VNFOperation, error) {
	var o *v1alpha1.VNFOperation
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var err error
		if o, err = c.operation(); err != nil {
			return err
		}
		if o.Now() != v1alpha1.FailedTemp || o.Status.GivenUp {
			return refuse(http.StatusConflict, "Operation %s is %s, not FAILED_TEMP: it cannot %s.", o.Name, o.Now(), verb)
		}
		change(o)
		return c.s.o.Worker.Client.Status().Update(c.ctx(), o)
	})
	if apierrors.IsConflict(err) {
		return nil, fmt.Errorf("writing operation: %w", err)
	}
	return o, err
}

func retryOperation(c *call) error { return c.again("be retried", v1alpha1.Processing) }

func rollBackOperation(c *call) error { return c.again("be rolled back", v1alpha1.RollingBack) }

// again lets the worker go on.
func (c *call) again(verb string, state v1alpha1.OperationState) error {
	_, err := c.decide(verb, func(o *v1alpha1.VNFOperation) { o.Enter(state, nil, metav1.NewTime(c.s.o.Worker.Clock.Now())) })
	if err != nil {
		return err
	}
	return c.empty(http.StatusAccepted, "")
}

// failOperation answers when it has failed. The decision is written first: if this
// process is killed, the worker carries it out.
func failOperation(c *call) error {
	o, err := c.decide("fail", func(o *v1alpha1.VNFOperation) { o.Status.GivenUp = true })
	if err != nil {
		return err
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if o, err = c.operation(); err != nil || o.Now().Final() {
			return err
		}
		return worker.Fail(c.ctx(), c.s.o.Worker, o)
	})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.links.ForOperation(o))
}
