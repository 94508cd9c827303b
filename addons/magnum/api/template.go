package api

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

func templateRoutes() []route {
	return []route{
		{http.MethodGet, "clustertemplates", minMinor, pagingParams(), listTemplates("clustertemplates", "clustertemplate:get_all")},
		{http.MethodGet, "clustertemplates/detail", minMinor, pagingParams(), listTemplates("clustertemplates/detail", "clustertemplate:detail")},
		{http.MethodPost, "clustertemplates", minMinor, nil, createTemplate},
		{http.MethodGet, "clustertemplates/{ident}", minMinor, nil, getTemplate},
		{http.MethodPatch, "clustertemplates/{ident}", minMinor, nil, patchTemplate},
		{http.MethodDelete, "clustertemplates/{ident}", minMinor, nil, deleteTemplate},
	}
}

func listTemplates(path, rule string) func(*call) error {
	return func(c *call) error {
		if err := c.allow(rule, c.mine()); err != nil {
			return err
		}
		all := slices.DeleteFunc(c.s.o.Inventory.Templates(), func(t *v1alpha1.ClusterTemplate) bool { return !c.visible(t, c.everywhere(rule+"_all_projects")) })
		items, next, err := page(c, all, templateListing(path))
		if err != nil {
			return err
		}
		documents := []any{}
		for _, t := range items {
			documents = append(documents, c.showTemplate(t))
		}
		return collection(c, "clustertemplates", documents, next)
	}
}

func getTemplate(c *call) error {
	t, err := c.readTemplate(c.ident("ident"))
	if err != nil {
		return err
	}
	if err := c.allow("clustertemplate:get", c.templateTarget(t, true)); err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.showTemplate(t))
}

func createTemplate(c *call) error {
	d, err := c.decode(templateAttributes())
	if err != nil {
		return err
	}
	if value, ok := d["labels"]; ok && value == nil {
		return badRequest("Invalid input for attribute labels: it must be an object.")
	}
	d["network_driver"] = fallback(d.text("network_driver"), c.s.o.Rules.NetworkDriver)
	if err := c.s.o.Rules.template(d); err != nil {
		return err
	}
	if err := c.templateImage(d); err != nil {
		return err
	}
	if err := c.allow("clustertemplate:create", c.mine()); err != nil {
		return err
	}
	if err := c.templateNames(d, document{}); err != nil {
		return err
	}
	if (d.flag("public", false) || d.flag("hidden", false)) && !c.everywhere("clustertemplate:publish") {
		return forbidden("Policy doesn't allow clustertemplate:publish to be performed.")
	}
	return c.storeTemplate(d)
}

func (c *call) storeTemplate(d document) error {
	id := fallback(d.text("uuid"), uuid.NewString())
	if len(c.s.o.Inventory.FindTemplates(id, "")) > 0 {
		return conflict("A ClusterTemplate with UUID %s already exists.", id)
	}
	d["name"] = fallback(d.text("name"), randomName("template"))
	t := &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(c.caller.ProjectID), Name: objectName(d.text("name"))}}
	fill(&t.Spec, d)
	t.Spec.UUID, t.Spec.ProjectID, t.Spec.UserID = id, c.caller.ProjectID, c.caller.UserID
	c.warnLabels(t.Spec.Labels)
	if err := c.create(t, c.caller.ProjectID); err != nil {
		return err
	}
	c.object = "clustertemplate " + id
	c.w.Header().Set("Location", c.base+"/v1/clustertemplates/"+id)
	return c.reply(http.StatusCreated, c.showTemplate(t))
}

func patchTemplate(c *call) error {
	operations, err := c.decodePatch()
	if err != nil {
		return err
	}
	t, err := c.findTemplate(c.ident("ident"), c.everywhere("clustertemplate:update_all_projects"))
	if err != nil {
		return err
	}
	c.object = "clustertemplate " + t.UUID()
	if err := c.allow("clustertemplate:update", c.templateTarget(t, false)); err != nil {
		return err
	}
	if err := c.unheld(t); err != nil {
		return err
	}
	t, err = update(c, t, func(t *v1alpha1.ClusterTemplate) error { return c.changeTemplate(t, operations) })
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.showTemplate(t))
}

func (c *call) changeTemplate(t *v1alpha1.ClusterTemplate, operations []operation) error {
	before := templateDocument(t)
	after, err := templatePatch().apply(before, operations)
	if err != nil {
		return err
	}
	changed := differences(before, after)
	if len(changed) == 0 {
		return nil
	}
	if slices.ContainsFunc(changed, func(name string) bool { return name == "public" || name == "hidden" }) && !c.everywhere("clustertemplate:publish") {
		return forbidden("Policy doesn't allow clustertemplate:publish to be performed.")
	}
	if c.s.o.Inventory.TemplateInUse(t) && !allowedInUse(changed, after) {
		return badRequest("ClusterTemplate %s is referenced by one or multiple clusters.", t.UUID())
	}
	if err := c.s.o.Rules.template(after); err != nil {
		return err
	}
	if slices.ContainsFunc(changed, func(name string) bool { return name == "image_id" || name == "driver" || name == "labels" }) {
		if err := c.templateImage(after); err != nil {
			return err
		}
	}
	if err := c.templateNames(after, before); err != nil {
		return err
	}
	c.warnLabels(after.labels("labels"))
	fill(&t.Spec, after)
	return nil
}

// differences are the members that differ, in order.
func differences(before, after document) []string {
	var names []string
	for name := range after {
		if !reflect.DeepEqual(before[name], after[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// allowedInUse reports whether a template with clusters may change so (facts 2.2.4): one member,
// and one that clusters do not depend on.
func allowedInUse(changed []string, after document) bool {
	if len(changed) != 1 {
		return false
	}
	switch changed[0] {
	case "name", "hidden":
		return true
	case "public":
		return after.flag("public", false)
	case "tags":
		return after.given("tags")
	}
	return false
}

func deleteTemplate(c *call) error {
	t, err := c.findTemplate(c.ident("ident"), c.everywhere("clustertemplate:delete_all_projects"))
	if err != nil {
		return err
	}
	c.object = "clustertemplate " + t.UUID()
	if err := c.allow("clustertemplate:delete", c.templateTarget(t, false)); err != nil {
		return err
	}
	if err := c.unheld(t); err != nil {
		return err
	}
	if c.s.o.Inventory.TemplateInUse(t) {
		return badRequest("ClusterTemplate %s is referenced by one or multiple clusters.", t.UUID())
	}
	if err := c.remove(t); err != nil {
		return err
	}
	return c.gone()
}
