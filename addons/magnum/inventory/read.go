package inventory

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Clusters are the clusters of a project, of all with "", in order of
// creation.
func (i *Inventory) Clusters(project string) []*View {
	i.mu.RLock()
	list, ok := i.lists[project]
	i.mu.RUnlock()
	if ok {
		return list
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if list, ok := i.lists[project]; ok {
		return list
	}
	list = []*View{}
	for _, v := range i.views {
		if project == "" || v.Cluster.Spec.ProjectID == project {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b *View) int { return cmp.Compare(a.ID, b.ID) })
	i.lists[project] = list
	return list
}

// CountClusters is how many clusters a project has, with those of coming, which
// are uuids, that are not among them yet.
func (i *Inventory) CountClusters(project string, coming map[string]bool) int {
	i.mu.RLock()
	defer i.mu.RUnlock()
	count := i.counts[project]
	for uuid := range coming {
		if len(i.clusters.byUUID[uuid]) == 0 {
			count++
		}
	}
	return count
}

// Cluster is the view of an object, nil when there is none.
func (i *Inventory) Cluster(key client.ObjectKey) *View {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.views[key]
}

// FindClusters are the clusters with a uuid or a name.
func (i *Inventory) FindClusters(uuid, title string) []*View {
	i.mu.RLock()
	defer i.mu.RUnlock()
	found := i.clusters.byTitle[title]
	if uuid != "" {
		found = i.clusters.byUUID[uuid]
	}
	var views []*View
	for _, c := range found {
		views = append(views, i.views[client.ObjectKeyFromObject(c)])
	}
	return views
}

// Templates are all templates in order of creation.
func (i *Inventory) Templates() []*v1alpha1.ClusterTemplate {
	i.mu.RLock()
	defer i.mu.RUnlock()
	list := make([]*v1alpha1.ClusterTemplate, 0, len(i.templates.byKey))
	for _, t := range i.templates.byKey {
		list = append(list, t)
	}
	slices.SortFunc(list, byID)
	return list
}

// FindTemplates are the templates with a uuid or a name.
func (i *Inventory) FindTemplates(uuid, title string) []*v1alpha1.ClusterTemplate {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if uuid != "" {
		return i.templates.byUUID[uuid]
	}
	return i.templates.byTitle[title]
}

// TemplateInUse reports whether a cluster was made from a template.
func (i *Inventory) TemplateInUse(t *v1alpha1.ClusterTemplate) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, c := range i.clusters.byKey {
		if c.TemplateNamespace() == t.Namespace && c.Spec.TemplateRef.Name == t.Name || c.Spec.Template != nil && c.Spec.Template.UUID == t.UUID() {
			return true
		}
	}
	return false
}

// TemplateOf is the template a cluster names, nil when it is gone.
func (i *Inventory) TemplateOf(c *v1alpha1.Cluster) *v1alpha1.ClusterTemplate {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.templates.byKey[client.ObjectKey{Namespace: c.TemplateNamespace(), Name: c.Spec.TemplateRef.Name}]
}

// Quotas are all quotas in order of creation.
func (i *Inventory) Quotas() []*v1alpha1.Quota {
	i.mu.RLock()
	defer i.mu.RUnlock()
	list := make([]*v1alpha1.Quota, 0, len(i.quotas))
	for _, q := range i.quotas {
		list = append(list, q)
	}
	slices.SortFunc(list, byID)
	return list
}

// Quota is the bound on clusters of a project, nil when it has none of its own.
func (i *Inventory) Quota(project string) *v1alpha1.Quota {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.quotas[project]
}
