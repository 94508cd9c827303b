package worker

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// Setup adds the worker to a manager. Only the leader works.
func Setup(m manager.Manager, o *Options) error {
	same := true // several in one process of a test
	settings := controller.Options{MaxConcurrentReconciles: o.Concurrency, SkipNameValidation: &same}
	for name, c := range map[string]struct {
		of client.Object
		do reconcile.Reconciler
	}{
		"vnf-operations":    {&v1alpha1.VNFOperation{}, &Reconciler{o}},
		"vnf-notifications": {&v1alpha1.VNFOperation{}, &Teller{o}},
		"vnf-identifiers":   {&v1alpha1.VNFInstance{}, &Herald{o}},
	} {
		if err := builder.ControllerManagedBy(m).Named(name).For(c.of).WithOptions(settings).Complete(c.do); err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
	}
	return nil
}
