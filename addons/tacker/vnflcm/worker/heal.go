package worker

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/machine"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
)

// heal replaces machines: those that are named, else all of them by a rolling restart.
type heal struct{}

// named are the machines that the request names, by either id that clients see.
func (j *job) named() (all []v1alpha1.Machine, err error) {
	for _, id := range j.params.VNFCs {
		i := slices.IndexFunc(j.op.Status.Before, func(m v1alpha1.Machine) bool { return m.Name == id || m.Unit+"-"+m.Name == id })
		if i < 0 {
			return nil, refuse(http.StatusBadRequest, "vnfcInstanceId: the instance has no VNFC %s", id)
		}
		all = append(all, j.op.Status.Before[i])
	}
	slices.SortFunc(all, func(a, b v1alpha1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(all), nil
}

func (heal) start(_ context.Context, j *job) error {
	_, err := j.named()
	return err
}

func (heal) process(ctx context.Context, j *job) (string, error) {
	s := j.instance.Status
	machines, err := j.named()
	if err != nil {
		return "", err
	}
	if len(machines) == 0 {
		if err := j.restart(ctx); err != nil {
			return "", err
		}
	}
	for _, m := range machines {
		waiting, err := j.replaceMachine(ctx, m)
		if err != nil || waiting != "" {
			return waiting, err
		}
	}
	return j.rolled(ctx, s.Targets, s.Levels)
}

// restart lets the controllers replace all machines that are older than the request.
func (j *job) restart(ctx context.Context) error {
	after := j.op.CreationTimestamp.UTC().Format(time.RFC3339)
	for _, t := range j.instance.Status.Targets {
		if t.Kind != "MachineDeployment" && t.Kind != "KubeadmControlPlane" {
			return refuse(http.StatusUnprocessableEntity, "%s %s cannot be restarted as a whole", t.Kind, t.Name)
		}
		there, err := j.find(ctx, t.ObjectRef)
		if err != nil {
			return err
		}
		if there == nil {
			return refuse(http.StatusConflict, "%s does not exist", kube.Describe(object(t.ObjectRef)))
		}
		path, body := rollout(there.GetAPIVersion(), after)
		if now, _, _ := unstructured.NestedString(there.Object, path...); now == after {
			continue
		}
		if err := j.patch(ctx, there, body); err != nil {
			return err
		}
	}
	return nil
}

// rollout is where a version of Cluster API has the time before which machines are replaced, and
// the patch that sets it. One in another version's place is dropped, and nothing happens.
func rollout(apiVersion, after string) (path []string, patch string) {
	if strings.HasSuffix(apiVersion, "/v1beta1") {
		return []string{"spec", "rolloutAfter"}, fmt.Sprintf(`{"spec":{"rolloutAfter":%q}}`, after)
	}
	return []string{"spec", "rollout", "after"}, fmt.Sprintf(`{"spec":{"rollout":{"after":%q}}}`, after)
}

// replaceMachine deletes a machine, one after the other: etcd keeps its quorum.
func (j *job) replaceMachine(ctx context.Context, m v1alpha1.Machine) (string, error) {
	there, err := j.find(ctx, v1alpha1.ObjectRef{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Namespace: m.Namespace, Name: m.Name})
	if err != nil {
		return "", err
	}
	if there == nil {
		return j.succeeded(ctx, m)
	}
	if there.GetDeletionTimestamp() == nil {
		client, err := j.kube.Resource(there)
		if err == nil {
			uid := there.GetUID()
			err = client.Delete(ctx, m.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		}
		if err != nil && !kube.Absent(err) {
			return "", fmt.Errorf("deleting machine %s: %w", m.Name, err)
		}
	}
	return "deletion of machine " + m.Name + said(there, "Deleting"), nil
}

// succeeded waits for the successor of a machine that has gone, before the next one goes.
// The numbers in the owner's status may be older than the deletion.
func (j *job) succeeded(ctx context.Context, gone v1alpha1.Machine) (string, error) {
	machines, err := machine.List(ctx, j.o.Kube.Dynamic, j.instance)
	if err != nil {
		return "", err
	}
	for _, t := range j.instance.Status.Targets {
		have := int64(0)
		for _, m := range machines {
			if m.Unit == t.Unit {
				have++
			}
		}
		if t.Unit == gone.Unit && have < t.Count(j.instance.Status.Levels) {
			return "the successor of machine " + gone.Name, nil
		}
	}
	return j.rolled(ctx, j.instance.Status.Targets, j.instance.Status.Levels)
}

func (heal) undo(context.Context, *job) (string, error) { return "", noRollback("HEAL") }

func (heal) finish(context.Context, *job, bool) error { return nil }
