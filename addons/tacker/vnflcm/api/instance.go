package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	magnum "github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/request"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/catalog"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// usable opens a package that a new instance or a change may use.
func (c *call) usable(id string) (*csar.Content, error) {
	content, err := catalog.Load(c.ctx(), c.s.o.Worker.Client, id, c.token.ProjectID, true)
	if errors.Is(err, catalog.ErrUnusable) {
		return nil, refuse(http.StatusUnprocessableEntity, "%v.", err)
	}
	return content, err
}

func createInstance(c *call) error {
	var body struct {
		VNFDID      string                `json:"vnfdId"`
		Name        string                `json:"vnfInstanceName"`
		Description string                `json:"vnfInstanceDescription"`
		Metadata    *runtime.RawExtension `json:"metadata"`
	}
	if _, err := c.body(request.Create, &body); err != nil {
		return err
	}
	content, err := c.usable(body.VNFDID)
	if err != nil {
		return err
	}
	if err := c.makeNamespace(); err != nil {
		return err
	}
	i := &v1alpha1.VNFInstance{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(), Name: uuid.NewString(), Finalizers: []string{v1alpha1.Finalizer}},
		Spec: v1alpha1.VNFInstanceSpec{ProjectID: c.token.ProjectID, UserID: c.token.UserID,
			Identity: v1alpha1.Identity{Name: body.Name, Description: body.Description, Metadata: body.Metadata}}}
	catalog.Identify(&i.Spec.Identity, content)
	c.object = "VNF instance " + i.Name
	if err := c.s.o.Worker.Client.Create(c.ctx(), i); err != nil {
		return fmt.Errorf("creating instance: %w", err)
	}
	i.Look()
	return c.created(c.links.Instance(i.Name), c.links.ForInstance(i, nil))
}

// makeNamespace makes the project's namespace, as the Magnum API does.
func (c *call) makeNamespace() error {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace(), Labels: map[string]string{magnum.LabelProject: magnum.LabelValue(c.token.ProjectID)}}}
	if err := c.s.o.Worker.Client.Create(c.ctx(), n); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the project's namespace: %w", err)
	}
	return nil
}

// deleteInstance judges anew when the instance has changed in between: the worker writes to it
// also right after an operation has ended, and an operation that has begun is found then.
func deleteInstance(c *call) error {
	if err := retry.RetryOnConflict(retry.DefaultBackoff, c.deleteIdle); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent, "")
}

func (c *call) deleteIdle() error {
	i, err := c.instance()
	if err != nil {
		return err
	}
	switch busy, err := c.busy(i); {
	case err != nil:
		return err
	case busy:
		return c.occupied(i)
	case i.Status.State != v1alpha1.NotInstantiated:
		return refuse(http.StatusConflict, "VNF instance %s is instantiated. Terminate it first.", i.Name)
	case len(i.Status.Objects) > 0:
		return refuse(http.StatusConflict, "VNF instance %s has left %d objects of an operation that failed. Instantiate it again, then terminate it.", i.Name, len(i.Status.Objects))
	}
	// An operation that begins meanwhile changes the instance first.
	err = c.s.o.Worker.Client.Delete(c.ctx(), i, client.Preconditions{UID: &i.UID, ResourceVersion: &i.ResourceVersion})
	if err != nil {
		return fmt.Errorf("deleting instance: %w", err)
	}
	return nil
}

// busy reports whether the instance's next operation is there: it has not ended.
func (c *call) busy(i *v1alpha1.VNFInstance) (bool, error) {
	next := types.NamespacedName{Namespace: i.Namespace, Name: v1alpha1.OperationID(i.Name, i.Status.Sequence+1)}
	err := c.s.o.Worker.Client.Get(c.ctx(), next, &v1alpha1.VNFOperation{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading operation: %w", err)
	}
	return err == nil, nil
}

func (c *call) occupied(i *v1alpha1.VNFInstance) error {
	return refuse(http.StatusConflict, "Another operation of VNF instance %s is in progress or has failed: %s.", i.Name, v1alpha1.OperationID(i.Name, i.Status.Sequence+1))
}
