package api

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
)

// failed reads an operation that waits for a decision.
func (c *call) failed(verb string) (*v1alpha1.VNFOperation, error) {
	o, err := c.operation()
	if err != nil {
		return nil, err
	}
	if o.Now() != v1alpha1.FailedTemp {
		return nil, refuse(http.StatusConflict, "Operation %s is %s, not FAILED_TEMP: it cannot %s.", o.Name, o.Now(), verb)
	}
	return o, nil
}

func retryOperation(c *call) error { return c.again("be retried", v1alpha1.Processing) }

func rollBackOperation(c *call) error { return c.again("be rolled back", v1alpha1.RollingBack) }

// again lets the worker go on. Of two decisions at the same time one is too late.
func (c *call) again(verb string, state v1alpha1.OperationState) error {
	o, err := c.failed(verb)
	if err != nil {
		return err
	}
	o.Enter(state, nil, metav1.NewTime(c.s.o.Worker.Clock.Now()))
	if err := c.s.o.Worker.Client.Status().Update(c.ctx(), o); err != nil {
		return fmt.Errorf("writing operation: %w", err)
	}
	return c.empty(http.StatusAccepted, "")
}

func failOperation(c *call) error {
	o, err := c.failed("fail")
	if err != nil {
		return err
	}
	i := &v1alpha1.VNFInstance{}
	err = c.s.o.Worker.Client.Get(c.ctx(), types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.InstanceID}, i)
	if apierrors.IsNotFound(err) {
		return refuse(http.StatusConflict, "The instance of operation %s does not exist.", o.Name)
	}
	if err != nil {
		return fmt.Errorf("reading instance: %w", err)
	}
	if err := worker.Fail(c.ctx(), c.s.o.Worker, o, i); err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.links.ForOperation(o))
}
