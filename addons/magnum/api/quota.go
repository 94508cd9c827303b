package api

import (
	"cmp"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

func quotaRoutes() []route {
	const one = "quotas/{project}/{resource}"
	return []route{
		{http.MethodGet, "quotas", minMinor, pagingParams("all_tenants"), listQuotas},
		{http.MethodPost, "quotas", minMinor, nil, createQuota},
		{http.MethodPatch, "quotas", minMinor, nil, patchQuota},
		{http.MethodGet, one, minMinor, nil, getQuota},
		{http.MethodPatch, one, minMinor, nil, patchQuota},
		{http.MethodDelete, one, minMinor, nil, deleteQuota},
	}
}

func quotaAttributes() []attribute {
	return append([]attribute{{name: "project_id", kind: text, min: 1, max: 255}, {name: "resource", kind: text, enum: []string{v1alpha1.ResourceCluster}},
		{name: "hard_limit", kind: integer}}, append(readOnly("created_at", "updated_at"), ignored("id", "links")...)...)
}

func showQuota(q *v1alpha1.Quota) document {
	return document{"id": inventory.SortID(q), "project_id": q.Spec.ProjectID, "resource": q.Spec.Resource, "hard_limit": int64(q.Spec.HardLimit),
		"created_at": created(q), "updated_at": updated(q, nil)}
}

func quotaListing() listing[*v1alpha1.Quota] {
	columns := map[string]func(*v1alpha1.Quota) string{}
	for _, name := range []string{"id", "project_id", "resource", "hard_limit", "created_at", "updated_at"} {
		columns[name] = func(q *v1alpha1.Quota) string { return sortText(showQuota(q)[name]) }
	}
	isNumber := func(marker string) bool { _, err := strconv.ParseInt(marker, 10, 64); return err == nil }
	return listing[*v1alpha1.Quota]{"quotas", columns, func(q *v1alpha1.Quota) string { return strconv.FormatInt(inventory.SortID(q), 10) }, isNumber}
}

func listQuotas(c *call) error {
	if err := c.allow("quota:get_all", c.mine()); err != nil {
		return err
	}
	everywhere, err := c.boolParam("all_tenants")
	if err != nil {
		return err
	}
	var quotas []*v1alpha1.Quota
	for _, q := range c.s.o.Inventory.Quotas() {
		if everywhere || q.Spec.ProjectID == c.caller.ProjectID {
			quotas = append(quotas, q)
		}
	}
	items, next, err := page(c, quotas, quotaListing())
	if err != nil {
		return err
	}
	documents := []any{}
	for _, q := range items {
		documents = append(documents, showQuota(q))
	}
	return collection(c, "quotas", documents, next)
}

// quota finds the quota of a project for a resource; nil if it has none.
func (c *call) quota(project, resource string) (*v1alpha1.Quota, error) {
	if resource != v1alpha1.ResourceCluster {
		return nil, notFound("Quotas on the resource %s could not be found.", resource)
	}
	return c.s.o.Inventory.Quota(project), nil
}

func getQuota(c *call) error {
	project := c.ident("project")
	if err := c.allow("quota:get", policy.Target{ProjectID: project}); err != nil {
		return err
	}
	q, err := c.quota(project, c.ident("resource"))
	if err != nil {
		return err
	}
	if q == nil {
		return c.reply(http.StatusOK, document{"project_id": project, "resource": v1alpha1.ResourceCluster, "hard_limit": int64(c.s.o.Quota)})
	}
	return c.reply(http.StatusOK, showQuota(q))
}

func createQuota(c *call) error {
	d, err := c.decode(quotaAttributes())
	if err != nil {
		return err
	}
	if err := c.allow("quota:create", c.mine()); err != nil {
		return err
	}
	project := d.text("project_id")
	if project == "" {
		return badRequest("Must provide a valid project ID.")
	}
	exists, err := c.s.o.Tokens.ProjectExistsFor(c.ctx(), c.token.ID, project)
	if err != nil {
		return err
	}
	if !exists {
		return notFound("Project %s could not be found.", project)
	}
	resource := fallback(d.text("resource"), v1alpha1.ResourceCluster)
	q := &v1alpha1.Quota{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(project), Name: v1alpha1.QuotaName(resource)},
		Spec: v1alpha1.QuotaSpec{ProjectID: project, Resource: resource, HardLimit: int32(d.number("hard_limit", 1))}}
	err = c.create(q, project)
	if apierrors.IsAlreadyExists(err) {
		return conflict("A quota for project %s and resource %s already exists.", project, resource)
	}
	if err != nil {
		return err
	}
	return c.reply(http.StatusCreated, showQuota(q))
}

// patchQuota expects a plain quota, not a JSON Patch; the path wins over the body.
func patchQuota(c *call) error {
	d, err := c.decode(quotaAttributes())
	if err != nil {
		return err
	}
	if err := c.allow("quota:update", c.mine()); err != nil {
		return err
	}
	project, resource := cmp.Or(c.ident("project"), d.text("project_id")), cmp.Or(c.ident("resource"), d.text("resource"), v1alpha1.ResourceCluster)
	q, err := c.quota(project, resource)
	if err != nil {
		return err
	}
	if q == nil {
		return notFound("Quota of project %s on %s could not be found.", project, resource)
	}
	if err := c.unheld(q); err != nil {
		return err
	}
	if !d.given("hard_limit") {
		return badRequest("The attribute hard_limit is mandatory.")
	}
	q, err = update(c, q, func(q *v1alpha1.Quota) error {
		q.Spec.HardLimit = int32(d.number("hard_limit", 0))
		return nil
	})
	if err != nil {
		return err
	}
	return c.reply(http.StatusAccepted, showQuota(q))
}

func deleteQuota(c *call) error {
	if err := c.allow("quota:delete", c.mine()); err != nil {
		return err
	}
	q, err := c.quota(c.ident("project"), c.ident("resource"))
	if err != nil {
		return err
	}
	if q == nil {
		return notFound("Quota of project %s on %s could not be found.", c.ident("project"), c.ident("resource"))
	}
	if err := c.unheld(q); err != nil {
		return err
	}
	if err := c.remove(q); err != nil {
		return err
	}
	return c.gone()
}
