package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	glance "github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/fault"
)

// checkArchitecture refuses images of machines for another processor than the management
// cluster's: machines of them never start, or addons never do, whose images are the bundle's.
// An image that does not say what it is for is taken, as by preflight.
func (m *Management) checkArchitecture(ctx context.Context, c Cloud, values map[string]any) error {
	if c.Clients == nil {
		return nil
	}
	wanted, err := m.architecture(ctx)
	if err != nil || wanted == "" {
		return err
	}
	client, err := c.Clients.Image()
	if err != nil {
		return err
	}
	var wrong []error
	var seen []string
	for _, part := range machines(values) {
		key, query := part.path+"machineImageId", glance.ListOpts{ID: text(part.values, "machineImageId")}
		if query.ID == "" {
			key, query = part.path+"machineImage", glance.ListOpts{Name: text(part.values, "machineImage")}
		}
		ref := query.ID + query.Name
		if ref == "" || strings.Contains(ref, "{{") || slices.Contains(seen, ref) {
			continue
		}
		seen = append(seen, ref)
		found, err := lookUp(ctx, client, query)
		if err != nil {
			return fmt.Errorf("%s: reading image %s: %w", key, ref, err)
		}
		for _, image := range found {
			if has, _ := image.Properties[manifest.PropertyArchitecture].(string); has != "" && has != wanted {
				wrong = append(wrong, fault.Usage(key, fmt.Errorf("image %s is for %s, but the management cluster and the bundle are for %s", ref, has, wanted),
					"choose an image for "+wanted+", or correct the property: openstack image set --property architecture="+wanted+" "+image.ID))
				break
			}
		}
	}
	return errors.Join(wrong...)
}

// lookUp finds images by ID or by name. One that the login cannot see is of a cluster with a
// credential of its own.
func lookUp(ctx context.Context, client *gophercloud.ServiceClient, query glance.ListOpts) ([]glance.Image, error) {
	if query.ID != "" {
		image, err := glance.Get(ctx, client, query.ID).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []glance.Image{*image}, nil
	}
	pages, err := glance.List(client, query).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return glance.ExtractImages(pages)
}

// architecture is that of the management cluster's nodes, "" if none says it.
func (m *Management) architecture(ctx context.Context) (string, error) {
	list, err := m.Kube.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", fmt.Errorf("reading the management cluster's nodes: %w", err)
	}
	for i := range list.Items {
		return images.Architecture(list.Items[i].Status.NodeInfo.Architecture), nil
	}
	return "", nil
}
