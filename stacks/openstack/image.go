package openstack

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// HashProperty is the property with the SHA-256 of an image's content: Glance computes its
// own hash with an algorithm of its choice.
const HashProperty = "slipway_sha256"

// sizeProperty is the property with the number of bytes that were to be uploaded.
const sizeProperty = "slipway_size"

// ImageInputs are the inputs of an image.
type ImageInputs struct {
	Ownership
	// Path is the file on the operator's machine.
	Path string `pulumi:"path" diff:"ignore"`
	// SHA256 of the file in hex.
	SHA256 string `pulumi:"sha256" diff:"replace"`
	// Format is that of the upload: raw, or qcow2 into which a raw file is packed.
	Format     string            `pulumi:"format" diff:"replace"`
	Properties map[string]string `pulumi:"properties,optional" diff:"replace"`
}

// ImageState is the state of an image.
type ImageState struct {
	ImageInputs
	Status string `pulumi:"status"`
	// Borrowed says that somebody else uploaded the same content; the image stays when
	// the environment is deleted.
	Borrowed bool `pulumi:"borrowed"`
}

func (s ImageState) inputs() ImageInputs { return s.ImageInputs }

// Image is an image in a program.
type Image struct{ pulumi.CustomResourceState }

// NewImage adds an image that is uploaded from a file to the program.
func NewImage(ctx *pulumi.Context, in ImageInputs, options ...pulumi.ResourceOption) (*Image, error) {
	r := &Image{}
	return r, register(ctx, "Image", in, nil, r, options)
}

type image struct {
	controller[ImageInputs, ImageState]
}

// Annotate names the resource's type.
func (*image) Annotate(a infer.Annotator) { a.SetToken("openstack", "Image") }

type imageKind struct{ Clients }

func (imageKind) word() string { return "image" }

// beside: servers use the old image until all of them are replaced, and clouds that clone
// images keep those that are in use.
func (imageKind) beside() {}

// find returns our image, or another one with the same content that belongs to no
// environment (F21). It deletes an interrupted upload, which one that somebody deactivated is not;
// one with other content or in another format is of an older bundle or setting, and the engine
// deletes it at the end.
func (k imageKind) find(ctx context.Context, in ImageInputs) (string, error) {
	client, err := k.Image()
	if err != nil {
		return "", err
	}
	pages, err := images.List(client, images.ListOpts{}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := images.ExtractImages(pages)
	if err != nil {
		return "", err
	}
	same := ""
	var candidates []candidate
	project := projectOf(client)
	for _, i := range list {
		if i.Owner != project && project != "" && i.Visibility != images.ImageVisibilityPublic {
			continue // lent by another project, which can write any name and digest on it
		}
		properties := texts(i.Properties)
		mark, owned := ownership.Find(i.Tags, properties, "")
		whole := i.Status == images.ImageStatusActive || i.Status == images.ImageStatusDeactivated
		switch {
		case owned && mark == in.mark() && whole && (properties[HashProperty] != in.SHA256 || i.DiskFormat != in.Format):
		case owned && mark == in.mark() && (!whole || truncated(i, properties)):
			if err := k.remove(ctx, i.ID, ImageState{ImageInputs: in}); err != nil {
				return "", fmt.Errorf("deleting an interrupted upload: %w", err)
			}
		case owned && mark == in.mark(), i.Name == in.mark().Name() && i.Visibility == images.ImageVisibilityPrivate:
			candidates = append(candidates, candidate{id: i.ID, name: i.Name, tags: i.Tags, metadata: properties})
		case !owned && i.Status == images.ImageStatusActive && sameBytes(properties, in.SHA256):
			same = i.ID
		}
	}
	id, err := pick(k.word(), in.mark(), candidates)
	if err == nil && id == "" {
		id = same
	}
	return id, err
}

// truncated reports whether an image has another size than what was uploaded as it: some servers
// take an upload that broke off, as that of a killed run does, for a whole one.
func truncated(i images.Image, properties map[string]string) bool {
	want := properties[sizeProperty]
	return want != "" && want != strconv.FormatInt(i.SizeBytes, 10)
}

func sameBytes(properties map[string]string, sha256 string) bool {
	return properties[HashProperty] == sha256 || (properties["os_hash_algo"] == "sha256" && properties["os_hash_value"] == sha256)
}

func texts(properties map[string]any) map[string]string {
	out := map[string]string{}
	for key, value := range properties {
		if text, ok := value.(string); ok {
			out[key] = text
		}
	}
	return out
}

func (k imageKind) settle(ctx context.Context, id string, in ImageInputs) (ImageState, error) {
	var state ImageState
	err := wait(ctx, func() (string, bool, error) {
		var err error
		if state, err = k.read(ctx, id, in); err != nil {
			return "", false, err
		}
		switch images.ImageStatus(state.Status) {
		case images.ImageStatusActive:
			return "", true, nil
		case images.ImageStatusDeactivated:
			return "", false, failed(state.Status, "somebody deactivated it", "ask the cloud's operator why, or run openstack image set --activate "+id+"; then run the same command again")
		case images.ImageStatusKilled, images.ImageStatusDeleted:
			return "", false, failed(state.Status, "the cloud did not accept the image", "ask the cloud's operator for Glance's log, then run the same command again")
		}
		return "image is " + state.Status, false, nil
	})
	return state, err
}

func (k imageKind) read(ctx context.Context, id string, in ImageInputs) (ImageState, error) {
	_, i, err := k.get(ctx, id)
	if err != nil {
		return ImageState{}, err
	}
	mark, owned := ownership.Find(i.Tags, texts(i.Properties), "")
	return ImageState{in, string(i.Status), !owned || mark != in.mark()}, nil
}

// remove keeps an image with known content while servers use it, such as those of workload
// clusters, which need it to scale and to be repaired. When the environment is
// deleted, remaining images are found by their ownership tag.
func (k imageKind) remove(ctx context.Context, id string, state ImageState) error {
	client, err := k.Image()
	if err != nil || state.Borrowed {
		return err
	}
	if state.SHA256 != "" {
		if used, err := k.used(ctx, client, id); err != nil || used {
			return err
		}
	}
	return gone(images.Delete(ctx, client, id).ExtractErr())
}

// used reports whether a server of the project uses the image, from its own disk or from a
// volume, or clusters in other projects have it on loan.
func (k imageKind) used(ctx context.Context, glance *gophercloud.ServiceClient, id string) (bool, error) {
	if i, err := images.Get(ctx, glance, id).Extract(); err != nil || lent(*i) {
		return err == nil, gone(err)
	}
	client, err := k.Compute()
	if err != nil {
		return false, err
	}
	pages, err := servers.List(client, servers.ListOpts{Image: id}).AllPages(ctx)
	if err != nil {
		return false, fmt.Errorf("listing the servers of the image: %w", err)
	}
	list, err := servers.ExtractServers(pages)
	if err != nil || len(list) > 0 {
		return len(list) > 0, err
	}
	return k.booted(ctx, id)
}

// booted reports whether a server has a volume that was made of the image: Nova says nothing of
// the image of such a server.
func (k imageKind) booted(ctx context.Context, id string) (bool, error) {
	client, err := k.Volume()
	if err != nil {
		return false, absent(err)
	}
	pages, err := volumes.List(client, volumes.ListOpts{}).AllPages(ctx)
	if err != nil {
		return false, fmt.Errorf("listing the volumes of the image: %w", err)
	}
	list, err := volumes.ExtractVolumes(pages)
	return slices.ContainsFunc(list, func(v volumes.Volume) bool { return v.VolumeImageMetadata["image_id"] == id && len(v.Attachments) > 0 }), err
}

func (k imageKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, *images.Image, error) {
	client, err := k.Image()
	if err != nil {
		return nil, nil, err
	}
	i, err := images.Get(ctx, client, id).Extract()
	return client, i, gone(err)
}
