package upkeep

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/clusterapi"
)

// The states of images, in the metric. Servers can still be made of a hidden image by its id,
// but who hides it means to delete it.
const (
	deactivated = "deactivated"
	deleted     = "deleted"
	hidden      = "hidden"
)

// mostTemplates is how many images of templates are asked for.
const mostTemplates = 100

// stateOf is the state of an image for who logs in with the client, who must see it to make
// machines; empty if it is well.
func stateOf(ctx context.Context, client *gophercloud.ServiceClient, i clusterapi.Image) (string, error) {
	if i.ID != "" {
		found, err := images.Get(ctx, client, i.ID).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return deleted, nil
		}
		if err != nil {
			return "", fmt.Errorf("image %s: %w", i.ID, err)
		}
		return state(*found), nil
	}
	// Cluster API looks for a name among the images that a list shows.
	best := ""
	for _, concealed := range []bool{false, true} {
		pages, err := images.List(client, images.ListOpts{Name: i.Name, Tags: i.Tags, Hidden: concealed}).AllPages(ctx)
		if err != nil {
			return "", fmt.Errorf("images named %s: %w", i.Name, err)
		}
		list, err := images.ExtractImages(pages)
		if err != nil {
			return "", fmt.Errorf("images named %s: %w", i.Name, err)
		}
		for _, one := range list {
			if best = state(one); best == "" {
				return "", nil
			}
		}
		if best != "" {
			return best, nil
		}
	}
	return deleted, nil
}

// state is that of an image that is there. One that is still being made is well.
func state(i images.Image) string {
	switch {
	case i.Status == images.ImageStatusDeactivated:
		return deactivated
	case slices.Contains([]images.ImageStatus{images.ImageStatusKilled, images.ImageStatusDeleted, images.ImageStatusPendingDelete}, i.Status):
		return deleted
	case i.Hidden:
		return hidden
	}
	return ""
}

// templates looks at the images of the Magnum API's cluster templates that are not hidden
// themselves. One that the environment's project does not see counts as deleted only if it
// should: if the template is for all projects, or this one's.
func (w *watch) templates(ctx context.Context) error {
	list, err := w.client.Resource(v1alpha1.GroupVersion().WithResource("clustertemplates")).Namespace(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		w.tally.lookedAt(lookedTemplates, w.now())
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing the cluster templates of the Magnum API: %w", err)
	}
	if w.opened == nil {
		return nil // who asked the project has told why
	}
	token, err := w.opened.Token()
	if err != nil {
		return fmt.Errorf("reading the token: %w", err)
	}
	client, err := w.opened.Image()
	if err != nil {
		return fmt.Errorf("finding Glance: %w", err)
	}
	found := map[bad]int{}
	used := usersOf(list.Items, token.ProjectID)
	names := slices.Sorted(maps.Keys(used))
	for _, name := range names[:min(len(names), mostTemplates)] {
		i := clusterapi.Image{Name: name}
		if uuid.Validate(name) == nil {
			i = clusterapi.Image{ID: name}
		}
		is, err := stateOf(ctx, client, i)
		if err != nil {
			return err
		}
		count := used[name].all
		if is == deleted {
			count = used[name].sure
		}
		if is != "" && count > 0 {
			found[bad{name, is, ofTemplate}] = count
		}
	}
	w.tally.setImages(ofTemplate, found)
	w.tally.lookedAt(lookedTemplates, w.now())
	return nil
}

// count counts templates, and those whose image a project must see.
type count struct{ all, sure int }

// usersOf counts templates by their image.
func usersOf(all []unstructured.Unstructured, project string) map[string]count {
	used := map[string]count{}
	for _, item := range all {
		field := func(name string) (value string) {
			value, _, _ = unstructured.NestedString(item.Object, "spec", name)
			return value
		}
		flag := func(name string) (value bool) {
			value, _, _ = unstructured.NestedBool(item.Object, "spec", name)
			return value
		}
		name := field("imageID")
		if name == "" || flag("hidden") {
			continue
		}
		c := used[name]
		c.all++
		if flag("public") || field("projectID") == project {
			c.sure++
		}
		used[name] = c
	}
	return used
}
