package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	magnum "github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/machine"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/query"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
)

// namespace is where the resources and clusters of the caller's project are: the one
// that the Magnum API uses too.
func (c *call) namespace() string { return magnum.Namespace(c.token.ProjectID) }

// get reads a resource of the project by the id in the path.
func (c *call) get(o client.Object, what string, project func() string) error {
	id := c.r.PathValue("id")
	c.object = what + " " + id
	missing := refuse(http.StatusNotFound, "The %s %s does not exist.", what, id)
	if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id {
		return missing
	}
	err := c.s.o.Worker.Client.Get(c.ctx(), types.NamespacedName{Namespace: c.namespace(), Name: id}, o)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	if err != nil || project() != c.token.ProjectID || !o.GetDeletionTimestamp().IsZero() {
		return missing
	}
	return nil
}

func (c *call) instance() (*v1alpha1.VNFInstance, error) {
	i := &v1alpha1.VNFInstance{}
	if err := c.get(i, "VNF instance", func() string { return i.Spec.ProjectID }); err != nil {
		return nil, err
	}
	i.Look()
	return i, nil
}

func (c *call) operation() (*v1alpha1.VNFOperation, error) {
	o := &v1alpha1.VNFOperation{}
	return o, c.get(o, "operation occurrence", func() string { return o.Spec.ProjectID })
}

func (c *call) subscription() (*v1alpha1.VNFSubscription, error) {
	s := &v1alpha1.VNFSubscription{}
	return s, c.get(s, "subscription", func() string { return s.Spec.ProjectID })
}

func (c *call) viewInstance(i *v1alpha1.VNFInstance) (view.Object, error) {
	machines, err := machine.List(c.ctx(), c.s.o.Worker.Kube.Dynamic, i)
	if err != nil {
		return nil, err
	}
	return c.links.ForInstance(i, machines), nil
}

func showInstance(c *call) error {
	i, err := c.instance()
	if err != nil {
		return err
	}
	document, err := c.viewInstance(i)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, document)
}

func showOperation(c *call) error {
	o, err := c.operation()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.links.ForOperation(o))
}

func showSubscription(c *call) error {
	s, err := c.subscription()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.links.ForSubscription(s))
}

// item is a document with what it is sorted by: when it was made, then its id.
type item struct {
	key      string
	document view.Object
}

func newItem(o client.Object, document view.Object) item {
	return item{fmt.Sprintf("%020d/%s", o.GetCreationTimestamp().Unix(), o.GetName()), document}
}

func listInstances(c *call) error {
	var all v1alpha1.VNFInstanceList
	if err := c.list(&all); err != nil {
		return err
	}
	var items []item
	for n := range all.Items {
		i := &all.Items[n]
		if i.Spec.ProjectID != c.token.ProjectID || !i.DeletionTimestamp.IsZero() {
			continue
		}
		i.Look()
		document, err := c.viewInstance(i)
		if err != nil {
			return err
		}
		items = append(items, newItem(i, document))
	}
	return c.answerList(items, "vnfConfigurableProperties", "vimConnectionInfo", "instantiatedVnfInfo", "metadata", "extensions")
}

func listOperations(c *call) error {
	var all v1alpha1.VNFOperationList
	if err := c.list(&all); err != nil {
		return err
	}
	var items []item
	for n := range all.Items {
		if o := &all.Items[n]; o.Spec.ProjectID == c.token.ProjectID {
			items = append(items, newItem(o, c.links.ForOperation(o)))
		}
	}
	return c.answerList(items, "operationParams", "error", "resourceChanges", "changedInfo", "changedExtConnectivity")
}

func listSubscriptions(c *call) error {
	var all v1alpha1.VNFSubscriptionList
	if err := c.list(&all); err != nil {
		return err
	}
	var items []item
	for n := range all.Items {
		if s := &all.Items[n]; s.Spec.ProjectID == c.token.ProjectID {
			items = append(items, newItem(s, c.links.ForSubscription(s)))
		}
	}
	return c.answerList(items)
}

func (c *call) list(into client.ObjectList) error {
	if err := c.s.o.Worker.Client.List(c.ctx(), into, client.InNamespace(c.namespace())); err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	return nil
}

// answerList filters, cuts a page and selects attributes (SOL013, 5.2 to 5.4).
func (c *call) answerList(items []item, excluded ...string) error {
	values, err := url.ParseQuery(strings.ReplaceAll(c.r.URL.RawQuery, ";", "%3B")) // SOL013 has plain semicolons in filters
	if err != nil {
		return refuse(http.StatusBadRequest, "The query cannot be read.")
	}
	selector, err := query.ParseSelector(values, excluded...)
	if err != nil {
		return refuse(http.StatusBadRequest, "Attribute selector: %v.", err)
	}
	for _, text := range values["filter"] {
		filter, err := query.ParseFilter(text)
		if err != nil {
			return refuse(http.StatusBadRequest, "Filter: %v.", err)
		}
		items = slices.DeleteFunc(items, func(i item) bool { return !filter.Match(i.document) })
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.key, b.key) })
	items, next, err := query.Page(items, func(i item) string { return i.key }, c.s.o.PageSize, values)
	if err != nil {
		return refuse(http.StatusBadRequest, "Page: %v.", err)
	}
	if next != nil {
		c.w.Header().Set("Link", fmt.Sprintf("<%s%s?%s>;rel=\"next\"", c.links.Base, c.r.URL.Path, next.Encode()))
	}
	documents := []view.Object{}
	for _, i := range items {
		selector.Apply(i.document, "id", "_links")
		documents = append(documents, i.document)
	}
	return c.reply(http.StatusOK, documents)
}
