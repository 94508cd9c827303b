package moving

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Import writes what a plan adopts and shows. Clusters are written one after the
// other; one that cannot be written does not keep the others from it. What is
// there already is compared and written only where it differs, so that an import
// can be interrupted and repeated. done receives each object.
func (p *Plan) Import(ctx context.Context, site Site, done func(what string, changed bool)) error {
	w := &writer{ctx: ctx, client: site.Client, done: done, namespaces: map[string]bool{}}
	var errs []error
	for i, item := range p.Templates {
		if item.Verdict == Adopt {
			errs = append(errs, p.Templates[i].copying(w.keep("template "+item.Name, copyTemplate(p.db.Templates[i]))))
		}
	}
	for i, item := range p.Quotas {
		if item.Verdict == Adopt {
			errs = append(errs, p.Quotas[i].copying(w.keep("quota of project "+item.ProjectID, copyQuota(p.db.Quotas[i]))))
		}
	}
	for i := range p.Clusters {
		if c := &p.Clusters[i]; c.Verdict == Adopt || c.Verdict == Show {
			errs = append(errs, c.copying(w.cluster(c)))
		}
	}
	return errors.Join(append(errs, w.gone(p)...)...)
}

// ImportOne writes one cluster with its template. Of one that is adopted nothing is written.
func (p *Plan) ImportOne(ctx context.Context, site Site, c *Cluster, done func(what string, changed bool)) error {
	if c.unsettled {
		return nil
	}
	w := &writer{ctx: ctx, client: site.Client, done: done, namespaces: map[string]bool{}}
	if t, ok := p.templateOf(c); ok {
		if err := w.keep("template "+t.Name, copyTemplate(t)); err != nil {
			return err
		}
	}
	return w.cluster(c)
}

func (p *Plan) templateOf(c *Cluster) (database.Template, bool) {
	for i, t := range p.db.Templates {
		if t.UUID == c.row.TemplateID && p.Templates[i].Verdict == Adopt {
			return t, true
		}
	}
	return database.Template{}, false
}

type writer struct {
	ctx        context.Context
	client     client.Client
	done       func(what string, changed bool)
	namespaces map[string]bool
}

// keep writes an object and tells of it.
func (w *writer) keep(what string, o client.Object) error {
	changed, err := w.put(o)
	if err != nil {
		return fmt.Errorf("copying %s: %w", what, err)
	}
	w.done(what, changed)
	return nil
}

// cluster writes a cluster, its groups and their statuses, and the Secrets of one
// that is only shown.
func (w *writer) cluster(c *Cluster) error {
	changed, err := w.whole(c.copies)
	if err != nil {
		return fmt.Errorf("copying cluster %s (%s): %w", c.Name, c.UUID, err)
	}
	w.done("cluster "+c.Name, changed)
	return nil
}

func (w *writer) whole(all *copies) (changed bool, err error) {
	for _, secret := range all.secrets {
		wrote, err := w.put(secret)
		if err != nil {
			return false, err
		}
		changed = changed || wrote
	}
	status := *all.cluster.Status.DeepCopy()
	wrote, err := w.put(all.cluster)
	if err != nil {
		return false, err
	}
	status.ObservedGeneration = all.cluster.Generation
	told, err := w.status(all.cluster, func() bool { return replace(&all.cluster.Status, status) })
	if err != nil {
		return false, err
	}
	changed = changed || wrote || told
	wanted := map[string]bool{}
	for _, g := range all.groups {
		wanted[g.Name] = true
		wrote, err := w.group(all.cluster, g)
		if err != nil {
			return false, err
		}
		changed = changed || wrote
	}
	removed, err := w.prune(all.cluster, wanted)
	return changed || removed, err
}

func (w *writer) group(owner *v1alpha1.Cluster, g *v1alpha1.NodeGroup) (bool, error) {
	yes := true
	g.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion().String(), Kind: "Cluster", Name: owner.Name, UID: owner.UID,
		Controller: &yes, BlockOwnerDeletion: &yes}}
	status := *g.Status.DeepCopy()
	wrote, err := w.put(g)
	if err != nil {
		return false, err
	}
	status.ObservedGeneration = g.Generation
	told, err := w.status(g, func() bool { return replace(&g.Status, status) })
	return wrote || told, err
}

func replace[T any](have *T, want T) bool {
	if equality.Semantic.DeepEqual(*have, want) {
		return false
	}
	*have = want
	return true
}

func (w *writer) status(o client.Object, change func() bool) (bool, error) {
	if !change() {
		return false, nil
	}
	if err := w.client.Status().Update(w.ctx, o); err != nil {
		return false, fmt.Errorf("writing the status of %s: %w", o.GetName(), err)
	}
	return true, nil
}

// prune removes copies of groups that Magnum has no more.
func (w *writer) prune(owner *v1alpha1.Cluster, wanted map[string]bool) (removed bool, err error) {
	list := &v1alpha1.NodeGroupList{}
	if err := w.client.List(w.ctx, list, client.InNamespace(owner.Namespace)); err != nil {
		return false, fmt.Errorf("listing node groups: %w", err)
	}
	for i := range list.Items {
		g := &list.Items[i]
		if g.Spec.ClusterName != owner.Name || wanted[g.Name] {
			continue
		}
		if err := w.client.Delete(w.ctx, g, asRead(g)); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("removing the copy of node group %s: %w", g.Name, err)
		}
		removed = true
	}
	return removed, nil
}

var errOurs = errors.New("there is another object of its name, which is not a copy of Magnum's")

// put creates an object, or brings a copy in line; o is then what the API server
// has. What is not held is not overwritten. A group is held as its cluster is,
// which is written before it.
func (w *writer) put(o client.Object) (bool, error) {
	have, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("%T is no object", o)
	}
	err := w.client.Get(w.ctx, client.ObjectKeyFromObject(o), have)
	if apierrors.IsNotFound(err) {
		if err := w.namespace(o); err != nil {
			return false, err
		}
		return true, w.client.Create(w.ctx, o)
	}
	if err != nil {
		return false, err
	}
	if _, group := o.(*v1alpha1.NodeGroup); !group && v1alpha1.Held(have) == "" {
		return false, errOurs
	}
	before, ok := have.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("%T is no object", o)
	}
	bring(have, o)
	if equality.Semantic.DeepEqual(before, have) {
		return false, assign(o, have)
	}
	if err := w.client.Update(w.ctx, have); err != nil {
		return false, err
	}
	return true, assign(o, have)
}

// bring puts what is wanted into what there is. Annotations of others stay.
func bring(have, want client.Object) {
	annotations := maps.Clone(have.GetAnnotations())
	delete(annotations, v1alpha1.AnnotationUpdatedAt)
	maps.Copy(annotations, want.GetAnnotations())
	have.SetAnnotations(annotations)
	have.SetLabels(want.GetLabels())
	switch want := want.(type) {
	case *v1alpha1.ClusterTemplate:
		have.(*v1alpha1.ClusterTemplate).Spec = want.Spec
	case *v1alpha1.Quota:
		have.(*v1alpha1.Quota).Spec = want.Spec
	case *v1alpha1.Cluster:
		have.(*v1alpha1.Cluster).Spec = want.Spec
	case *v1alpha1.NodeGroup:
		have.SetOwnerReferences(want.OwnerReferences)
		have.(*v1alpha1.NodeGroup).Spec = want.Spec
	case *corev1.Secret:
		have.(*corev1.Secret).Data = want.Data
	}
}

// assign makes o what the API server has.
func assign(o, have client.Object) error {
	switch o := o.(type) {
	case *v1alpha1.ClusterTemplate:
		have.(*v1alpha1.ClusterTemplate).DeepCopyInto(o)
	case *v1alpha1.Quota:
		have.(*v1alpha1.Quota).DeepCopyInto(o)
	case *v1alpha1.Cluster:
		have.(*v1alpha1.Cluster).DeepCopyInto(o)
	case *v1alpha1.NodeGroup:
		have.(*v1alpha1.NodeGroup).DeepCopyInto(o)
	}
	return nil
}

// namespace makes the namespace of a project that had no cluster yet.
func (w *writer) namespace(o client.Object) error {
	project := o.GetLabels()[v1alpha1.LabelProject]
	switch o := o.(type) {
	case *v1alpha1.ClusterTemplate:
		project = o.Spec.ProjectID
	case *v1alpha1.Quota:
		project = o.Spec.ProjectID
	case *v1alpha1.Cluster:
		project = o.Spec.ProjectID
	}
	if w.namespaces[o.GetNamespace()] || project == "" {
		return nil
	}
	w.namespaces[o.GetNamespace()] = true
	err := w.client.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.GetNamespace(), Labels: map[string]string{v1alpha1.LabelProject: v1alpha1.LabelValue(project)}}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", o.GetNamespace(), err)
	}
	return nil
}
