package takeover

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// How long controllers may take to begin and to end.
const (
	beginTime = 10 * time.Minute
	endTime   = 5 * time.Minute
)

// Take takes over what the plan says. It may be ended at any point and run again with a new
// plan. tell receives each step.
func (p *Plan) Take(ctx context.Context, tell func(string)) (changed bool, err error) {
	if err := p.Refused(); err != nil {
		return false, err
	}
	for _, c := range p.Clusters {
		if !c.pending() {
			continue
		}
		changed = true
		if err := c.take(ctx, p.Environment, func(text string) { tell(string(c.Role) + ": " + text) }); err != nil {
			return true, partly(fmt.Errorf("adopting the %s: %w", c.Role, err))
		}
	}
	if p.Release == nil || p.Release.Verdict != adopt.Adopt {
		return changed, nil
	}
	tell("release " + p.Release.Key().String())
	one := &adopt.Plan{Clusters: []adopt.Cluster{*p.Release}}
	if err := one.Take(ctx, p.seed.site.Clusters, func(*adopt.Cluster, bool) {}); err != nil {
		return true, partly(err)
	}
	return true, nil
}

// partly is an error after the first write.
func partly(err error) error {
	f := &fault.Fault{Exit: fault.ExitPartial, Err: err}
	if fault.Remedy(err) == "" {
		f.Remedy = "correct the cause and run the same command again; --hand-back brings back what was there"
	}
	return f
}

func (c *Cluster) take(ctx context.Context, environment string, tell func(string)) error {
	marks, err := c.marks(ctx)
	if err != nil {
		return err
	}
	c.record.Complete = false
	if err := c.keep(ctx, environment); err != nil {
		return err
	}
	for _, o := range c.operators {
		if err := c.retire(ctx, o, tell); err != nil {
			return err
		}
	}
	tell("installing Slipway's controllers")
	if err := c.site.Kube.ApplyObjects(ctx, c.wanted); err != nil {
		return err
	}
	if err := c.unmark(ctx); err != nil {
		return err
	}
	if err := c.available(ctx, c.record.Settings.options().Deployments(), tell); err != nil {
		return err
	}
	after, err := c.marks(ctx)
	if err != nil {
		return err
	}
	if all := moved(marks, after); len(all) > 0 {
		return fault.New("Cluster API", fmt.Errorf("meanwhile %s", join(all)), "if none of you did that, hand the environment back with --hand-back; else run the same command again")
	}
	c.record.Complete = true
	return c.writeRecord(ctx)
}

func (c *Cluster) available(ctx context.Context, all []types.NamespacedName, tell func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, beginTime, fmt.Errorf("they are not available after %s", beginTime))
	defer cancel()
	return c.site.Kube.WaitAvailable(ctx, all, tell)
}

// retire ends an operator of Azimuth: its release is put out of Helm's sight, its pods end,
// and then its Deployment goes, because no other can have its name.
func (c *Cluster) retire(ctx context.Context, o *operator, tell func(string)) error {
	if err := c.relabel(ctx, o, ownerHelm, ownerSlipway); err != nil {
		return err
	}
	live, err := c.get(ctx, deployments, o.namespace, o.name)
	if err != nil || live == nil || ours(live) {
		return err
	}
	if before := c.record.before(kindDeployment, o.namespace, o.name); before == nil || before.GetUID() != live.GetUID() {
		return fault.New(o.object(), errors.New("somebody installed it meanwhile"), "uninstall it, then run the same command again")
	}
	tell("ending " + o.name)
	return c.end(ctx, live)
}

// end scales a Deployment to nothing, waits until its pods are gone, and deletes it.
func (c *Cluster) end(ctx context.Context, live *unstructured.Unstructured) error {
	namespace, name := live.GetNamespace(), live.GetName()
	apps := c.site.Kube.Typed.AppsV1().Deployments(namespace)
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"replicas":0}}`, live.GetUID()) // of another it is refused
	d, err := apps.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kube.FieldManager})
	if err != nil {
		return fmt.Errorf("scaling %s down: %w", describe(live), err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, endTime, fmt.Errorf("it did not end within %s", endTime))
	defer cancel()
	if err := c.podsGone(ctx, namespace, metav1.FormatLabelSelector(d.Spec.Selector)); err != nil {
		return fault.New(describe(live), err, "see kubectl get pods -n "+namespace+"; a pod on a node that is lost must be deleted with --force")
	}
	uid := live.GetUID()
	if err := apps.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil && !kube.Absent(err) {
		return fmt.Errorf("deleting %s: %w", describe(live), err)
	}
	return nil
}

// podsGone waits until no pod of a selector is left, also none that is ending. Its error has what
// was seen last; a look that the end of ctx interrupted saw nothing.
func (c *Cluster) podsGone(ctx context.Context, namespace, selector string) error {
	var last error
	for {
		pods, err := c.site.Kube.Typed.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		switch {
		case err == nil && len(pods.Items) == 0:
			return nil
		case err == nil:
			last = fmt.Errorf("pod %s is still there", pods.Items[0].Name)
		case ctx.Err() == nil || last == nil:
			last = err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), last)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Labels of the Secrets with Helm's releases. Helm sees those that it owns.
const (
	labelOwner   = "owner"
	ownerHelm    = "helm"
	ownerSlipway = "slipway"
)

// relabel changes who owns the records of an operator's release. With another owner, Helm
// has no such release, and refuses to install one over Slipway's objects.
func (c *Cluster) relabel(ctx context.Context, o *operator, from, to string) error {
	secrets := c.site.Kube.Typed.CoreV1().Secrets(o.namespace)
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: labelOwner + "=" + from + ",name=" + o.name})
	if err != nil {
		return fmt.Errorf("listing the revisions of release %s: %w", o.name, err)
	}
	for _, secret := range list.Items {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, labelOwner, to)
		if _, err := secrets.Patch(ctx, secret.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kube.FieldManager}); err != nil {
			return fmt.Errorf("marking Secret %s: %w", secret.Name, err)
		}
	}
	return nil
}

// helmMarks are what Helm knows its objects by.
const helmMarks = `{"metadata":{"labels":{"helm.sh/chart":null,"app.kubernetes.io/instance":null},"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null}}}`

// unmark takes Helm's marks from the objects that were its own.
func (c *Cluster) unmark(ctx context.Context) error {
	for _, o := range c.record.Before {
		if o.GetKind() == kindDeployment || o.GetAnnotations()["meta.helm.sh/release-name"] == "" {
			continue
		}
		resource, err := c.site.Kube.Resource(o)
		if err != nil {
			return fmt.Errorf("finding the kind of %s: %w", describe(o), err)
		}
		if _, err := resource.Patch(ctx, o.GetName(), types.MergePatchType, []byte(helmMarks), metav1.PatchOptions{FieldManager: kube.FieldManager}); err != nil {
			return fmt.Errorf("changing %s: %w", describe(o), err)
		}
	}
	return nil
}
