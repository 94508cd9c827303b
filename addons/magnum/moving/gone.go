package moving

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// gone notes held copies of what Magnum has no more. A template stays as long as a cluster
// names it.
func (j *judge) gone(p *Plan) error {
	clusters, templates, quotas := &v1alpha1.ClusterList{}, &v1alpha1.ClusterTemplateList{}, &v1alpha1.QuotaList{}
	for _, one := range []struct {
		kind string
		list client.ObjectList
	}{{"Cluster", clusters}, {"ClusterTemplate", templates}, {"Quota", quotas}} {
		if err := j.site.Client.List(j.ctx, one.list); err != nil {
			return noKind(v1alpha1.GroupVersion().WithKind(one.kind), err)
		}
	}
	used := map[string]bool{}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		if stale(c) && !slices.ContainsFunc(j.db.Clusters, func(row database.Cluster) bool { return row.UUID == c.UUID() }) {
			p.Gone = append(p.Gone, c.Namespace+"/"+c.Name)
			continue
		}
		used[cmp.Or(c.Spec.TemplateRef.Namespace, c.Namespace)+"/"+c.Spec.TemplateRef.Name] = true
	}
	for i := range templates.Items {
		t := &templates.Items[i]
		key := t.Namespace + "/" + t.Name
		if stale(t) && !used[key] && !slices.ContainsFunc(j.db.Templates, func(row database.Template) bool { return row.UUID == t.UUID() }) {
			p.GoneTemplates = append(p.GoneTemplates, key)
		}
	}
	for i := range quotas.Items {
		q := &quotas.Items[i]
		if stale(q) && !slices.ContainsFunc(j.db.Quotas, func(row database.Quota) bool {
			return row.ProjectID == q.Spec.ProjectID && row.Resource == q.Spec.Resource
		}) {
			p.GoneQuotas = append(p.GoneQuotas, q.Namespace+"/"+q.Name)
		}
	}
	for _, keys := range [][]string{p.Gone, p.GoneTemplates, p.GoneQuotas} {
		slices.Sort(keys)
	}
	return nil
}

// stale reports whether an object is a copy that goes with what it is a copy of. What is on its way
// back to Magnum may not be there yet.
func stale(o client.Object) bool {
	held := v1alpha1.Held(o)
	return held != "" && held != v1alpha1.HeldByHandBack
}

// gone removes the copies of what Magnum has no more; the groups of a cluster go with it.
func (w *writer) gone(p *Plan) (errs []error) {
	for _, key := range p.Gone {
		errs = append(errs, w.remove("cluster", key, &v1alpha1.Cluster{}))
	}
	for _, key := range p.GoneTemplates {
		errs = append(errs, w.remove("template", key, &v1alpha1.ClusterTemplate{}))
	}
	for _, key := range p.GoneQuotas {
		errs = append(errs, w.remove("quota", key, &v1alpha1.Quota{}))
	}
	return errs
}

// remove deletes a copy, as it was read: another run may adopt it at the same time.
func (w *writer) remove(what, key string, o client.Object) error {
	namespace, name, _ := strings.Cut(key, "/")
	err := w.client.Get(w.ctx, types.NamespacedName{Namespace: namespace, Name: name}, o)
	if err == nil && stale(o) && !controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCluster) {
		err = w.client.Delete(w.ctx, o, asRead(o))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the copy of %s %s: %w", what, key, err)
	}
	w.done("copy of "+what+" "+key+", which Magnum has no more", true)
	return nil
}

// asRead deletes only what nobody has written since it was read.
func asRead(o client.Object) client.Preconditions {
	return client.Preconditions{UID: ptr.To(o.GetUID()), ResourceVersion: ptr.To(o.GetResourceVersion())}
}
