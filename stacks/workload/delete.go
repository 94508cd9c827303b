package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// Deletion is the result of deleting a cluster.
type Deletion struct {
	// Deleted is false if there was nothing to delete.
	Deleted bool `json:"deleted"`
	// Notes say what stays, and why.
	Notes []string `json:"notes,omitempty"`
}

// MayDelete refuses clusters of others before anything is asked or done, and reports
// whether there is anything to delete.
func (m *Management) MayDelete(ctx context.Context, key Key) (bool, error) {
	if key.Name == m.Environment { // no other cluster can have this name
		return false, fault.Usage(object(key), errors.New("it is the management cluster itself"), "to delete the whole environment, run slipway down")
	}
	there, err := m.look(ctx, key)
	if err != nil {
		return false, err
	}
	switch {
	case there.origin == Magnum:
		return false, m.refuseTenant(ctx, key)
	case there.origin == Others:
		return false, fault.Usage(object(key), errors.New("slipway cluster create did not create it"), "delete it in the way in which it was created")
	case there.origin == Ours || there.owns(key):
		return true, nil
	case there.namespace == nil:
		return false, nil
	}
	left, err := m.marked(ctx, key.Namespace, key.Name)
	return len(left) > 0, err
}

// refuseTenant is the error of deleting a cluster of the Magnum API.
func (m *Management) refuseTenant(ctx context.Context, key Key) error {
	tenants, err := Tenants(ctx, m.Kube.Dynamic, key.Namespace)
	if err != nil {
		return err
	}
	remedy := "find its name with openstack coe cluster list, and delete it with openstack coe cluster delete NAME"
	if t := tenant(tenants, key); t != nil {
		remedy = "delete it with openstack coe cluster delete " + t.UUID
	}
	return fault.Usage(object(key), errors.New("the Magnum API created it, and its controllers would create it again"), remedy)
}

// Retention is what happens to data of a cluster that is deleted: "delete" or "keep". An object
// store that is empty is deleted in any case.
type Retention struct{ Volumes, ObjectStores string }

// Delete deletes a cluster through Cluster API and waits until it is gone; then its release,
// its object stores, its credential, and its namespace if that is its own and empty. It also
// deletes what a killed run left behind. A cluster whose credential is lost gets another one
// first.
func (m *Management) Delete(ctx context.Context, c Cloud, key Key, data Retention, progress func(string)) (Deletion, error) {
	there, err := m.MayDelete(ctx, key)
	d := Deletion{Deleted: there}
	if err != nil {
		return d, err
	}
	if there {
		if c, err = m.enterLast(ctx, c, key); err != nil {
			return d, err
		}
		if err := m.lendCredential(ctx, c, key, progress); err != nil {
			return d, fmt.Errorf("giving the cluster a credential for its deletion: %w", err)
		}
		if err := m.deleteCluster(ctx, key, data.Volumes, progress); err != nil {
			return d, err
		}
	}
	stores, err := m.removeStores(ctx, c, key, nil, data.ObjectStores == "delete", progress)
	if err != nil {
		return d, err
	}
	progress("revoking the application credential")
	d.Notes, err = m.revoke(ctx, c, key, progress)
	if d.Notes = append(stores, d.Notes...); err != nil || !there {
		return d, err
	}
	note, err := m.deleteNamespace(ctx, key, progress)
	if note != "" {
		d.Notes = append(d.Notes, note)
	}
	return d, err
}

func (m *Management) deleteCluster(ctx context.Context, key Key, volumes string, progress func(string)) error {
	policy := map[string]string{janitor.VolumesPolicyAnnotation: volumes}
	if err := clusterapi.Delete(ctx, m.Kube.Dynamic, key.Namespace, key.Name, policy, func(r clusterapi.Report) { progress(r.Progress()) }); err != nil {
		return err
	}
	progress("deleting the Helm release")
	client, err := m.helm(key.Namespace)
	if err != nil {
		return err
	}
	last, err := client.Last(key.Name)
	if err == nil && last != nil { // without one, the name may be one that Helm refuses
		_, err = client.Uninstall(key.Name, 0)
	}
	if err != nil {
		return err
	}
	if err := clusterapi.AwaitServerGroups(ctx, m.Kube.Dynamic, key.Namespace, key.Name); err != nil {
		return err
	}
	return m.deleteKept(ctx, key, progress)
}

// labelStack is the chart's label on all its objects.
const labelStack = "capi.stackhpc.com/cluster"

// kept are the kinds that Helm keeps for Cluster API to delete with the Cluster. If there
// never was a Cluster, nothing else deletes them.
func kept() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmcontrolplanes"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackclusters"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackmachinetemplates"},
		{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmconfigtemplates"},
		{Version: "v1", Resource: "secrets"},
	}
}

// deleteKept deletes what the chart keeps, and waits until it is gone: until then the
// credential is needed.
func (m *Management) deleteKept(ctx context.Context, key Key, progress func(string)) error {
	for _, kind := range kept() {
		client := m.Kube.Dynamic.Resource(kind).Namespace(key.Namespace)
		mine := metav1.ListOptions{LabelSelector: labelStack + "=" + key.Name}
		leftover := clusterapi.NewLeftover(m.Kube.Dynamic, key.Namespace, key.Name)
		err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			list, err := client.List(ctx, mine)
			if kube.Absent(err) {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			for _, item := range list.Items {
				progress("deleting " + kube.Describe(&item))
				if item.GetDeletionTimestamp() != nil {
					continue
				}
				if err := client.Delete(ctx, item.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) && !kube.WebhookAway(err) {
					return false, err
				}
			}
			if len(list.Items) == 0 {
				return true, nil
			}
			return false, leftover.Vain(ctx, pointers(list.Items))
		})
		if err != nil {
			return fmt.Errorf("deleting %s: %w", kind.Resource, orCause(ctx, err))
		}
	}
	return nil
}

func pointers(list []unstructured.Unstructured) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// orCause returns the cause of a context that ended a wait.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
