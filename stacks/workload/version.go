package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kubeversion"
)

// NodeImage is an image for nodes: it says which Kubernetes it has.
type NodeImage struct {
	ID, Version string
	Created     time.Time
	// Architecture is what it says it is for; "" if it does not say.
	Architecture string
}

// NodeImages are the node images that the project can use.
func (c Cloud) NodeImages(ctx context.Context) ([]NodeImage, error) {
	client, err := c.Clients.Image()
	if err != nil {
		return nil, err
	}
	pages, err := images.List(client, images.ListOpts{Status: images.ImageStatusActive}).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	all, err := images.ExtractImages(pages)
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	var nodes []NodeImage
	for _, image := range all {
		if has, _ := image.Properties["kube_version"].(string); has != "" && !image.Hidden {
			architecture, _ := image.Properties[manifest.PropertyArchitecture].(string)
			nodes = append(nodes, NodeImage{ID: image.ID, Version: has, Created: image.CreatedAt, Architecture: architecture})
		}
	}
	return nodes, nil
}

// fittingImages are the node images that checkArchitecture takes.
func (m *Management) fittingImages(ctx context.Context, c Cloud) ([]NodeImage, error) {
	all, err := c.NodeImages(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := m.architecture(ctx)
	if err != nil || wanted == "" {
		return all, err
	}
	return slices.DeleteFunc(all, func(image NodeImage) bool { return image.Architecture != "" && image.Architecture != wanted }), nil
}

// resolveVersion makes a full version of one without a patch: that of the environment's node
// image if it is of the minor version, else the newest that there is an image for. It refuses
// previews that nobody asked for.
func (w *Wanted) resolveVersion(nodeImages func() ([]NodeImage, error)) error {
	text, _ := w.Values["kubernetesVersion"].(string)
	if number, isNumber := w.Values["kubernetesVersion"].(float64); isNumber { // 1.34 without quotation marks
		text = fmt.Sprint(number)
		if _, minor, _ := strings.Cut(text, "."); len(minor) == 1 { // 1.30, as Cluster API makes no 1.3
			text += "0"
		}
	}
	if kubeversion.IsPreview(text) && !w.Preview {
		return fault.Usage("kubernetesVersion", fmt.Errorf("%s is a preview", text), "choose a version that is released, or add --preview")
	}
	if !kubeversion.IsMinor(text) {
		return nil
	}
	values := maps.Clone(w.Values)
	if given(values, "machineImage") || given(values, "machineImageId") {
		return fault.Usage("kubernetesVersion", errors.New("it has no patch, but you name an image"), "write the full version that the image has, such as 1.34.4")
	}
	has := version(w.Defaults)
	if kubeversion.Newest(text, []string{has}, w.Preview) != "" {
		values["kubernetesVersion"] = has
		w.Values = values
		return nil
	}
	all, err := nodeImages()
	if err != nil {
		return fmt.Errorf("finding a node image: %w", err)
	}
	slices.SortStableFunc(all, func(a, b NodeImage) int { return cmp.Compare(b.Created.UnixNano(), a.Created.UnixNano()) })
	var versions []string
	for _, image := range all {
		versions = append(versions, image.Version)
	}
	newest := kubeversion.Newest(text, versions, w.Preview)
	if newest == "" {
		slices.Sort(versions)
		return fault.Usage("kubernetesVersion", fmt.Errorf("there is no node image with %s", text),
			"upload one with slipway image sync, or choose a version that there is an image for: "+cmp.Or(strings.Join(slices.Compact(append(versions, has)), ", "), "none"))
	}
	values["kubernetesVersion"] = strings.TrimPrefix(newest, "v")
	values["machineImageId"] = all[slices.Index(versions, newest)].ID
	w.Values = values
	return nil
}
