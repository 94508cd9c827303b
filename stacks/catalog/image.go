package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
)

// ImageInputs are the inputs of an image. Manifest contains everything; the other
// fields are shown in a plan.
type ImageInputs struct {
	// Environment is the environment that owns the image if it is uploaded.
	Environment string `pulumi:"environment"`
	Name        string `pulumi:"name"`
	Source      string `pulumi:"source"`
	// Digest of the content, if the manifest or the bill of materials has one.
	Digest string `pulumi:"digest"`
	// Stamp changes with a local file whose digest is not known.
	Stamp             string            `pulumi:"stamp"`
	KubernetesVersion string            `pulumi:"kubernetesVersion"`
	Visibility        string            `pulumi:"visibility"`
	Properties        map[string]string `pulumi:"properties"`
	// Manifest is an image manifest of this image alone, as JSON.
	Manifest string `pulumi:"manifest"`
}

// NewImageInputs returns the inputs for an image manifest of one image.
func NewImageInputs(environment string, m *manifest.Manifest, digest, stamp string) (ImageInputs, error) {
	i := m.Spec.Images[0]
	from, _, _ := strings.Cut(i.Source(), "?") // a query may contain a signature
	text, err := json.Marshal(m)
	if err != nil {
		return ImageInputs{}, fmt.Errorf("encoding the image manifest: %w", err)
	}
	return ImageInputs{Environment: environment, Name: i.Name, Source: from, Digest: digest, Stamp: stamp,
		KubernetesVersion: i.KubernetesVersion, Visibility: i.Visibility, Properties: i.GlanceProperties(), Manifest: string(text)}, nil
}

// ImageState is the state of an image.
type ImageState struct {
	ImageInputs
	// ImageID is the image's in Glance.
	ImageID string `pulumi:"imageID"`
	// Action says whether the image was uploaded, or found in Glance.
	Action string `pulumi:"action"`
}

// Image is a node image in a program.
type Image struct {
	pulumi.CustomResourceState
	// ImageID is the image's in Glance.
	ImageID pulumi.StringOutput `pulumi:"imageID"`
}

// NewImage adds an image to the program.
func NewImage(ctx *pulumi.Context, name string, in ImageInputs, options ...pulumi.ResourceOption) (*Image, error) {
	r := &Image{}
	return r, ctx.RegisterResource("slipway:catalog:Image", name, properties(in), r, options...)
}

// image manages images. Their Glance ID may change: a new build under the same key is
// another image, and the old one stays for those who use it.
type image struct {
	Options
	turns chan struct{}
}

// Annotate names the resource's type.
func (*image) Annotate(a infer.Annotator) { a.SetToken("catalog", "Image") }

// Create finds the image by its content, or uploads it.
func (k *image) Create(ctx context.Context, r infer.CreateRequest[ImageInputs]) (infer.CreateResponse[ImageState], error) {
	response := infer.CreateResponse[ImageState]{ID: r.Name, Output: ImageState{ImageInputs: r.Inputs}}
	if r.DryRun {
		return response, nil
	}
	var err error
	response.Output, err = k.settle(ctx, r.Inputs)
	return response, err
}

// Update sets the image's properties, or uploads another image.
func (k *image) Update(ctx context.Context, r infer.UpdateRequest[ImageInputs, ImageState]) (infer.UpdateResponse[ImageState], error) {
	response := infer.UpdateResponse[ImageState]{Output: r.State}
	if r.DryRun {
		return response, nil
	}
	var err error
	response.Output, err = k.settle(ctx, r.Inputs)
	return response, err
}

// Diff makes every change an update in place.
func (k *image) Diff(_ context.Context, r infer.DiffRequest[ImageInputs, ImageState]) (infer.DiffResponse, error) {
	return diff(r.State.ImageInputs, r.Inputs, "manifest"), nil
}

// Read checks whether the image still exists.
func (k *image) Read(ctx context.Context, r infer.ReadRequest[ImageInputs, ImageState]) (infer.ReadResponse[ImageInputs, ImageState], error) {
	glance, err := images.NewGlance(k.Cloud)
	if err != nil {
		return infer.ReadResponse[ImageInputs, ImageState]{}, err
	}
	record, err := glance.Get(ctx, r.State.ImageID)
	switch {
	case gophercloud.ResponseCodeIs(err, 404), err == nil && !record.Active():
		return infer.ReadResponse[ImageInputs, ImageState]{}, nil
	case err != nil:
		return infer.ReadResponse[ImageInputs, ImageState]{}, err
	}
	return infer.ReadResponse[ImageInputs, ImageState]{ID: r.ID, Inputs: r.State.ImageInputs, State: r.State}, nil
}

// Delete keeps the image for those who use it: `slipway down --images` and `slipway
// image prune` check that nobody does.
func (k *image) Delete(context.Context, infer.DeleteRequest[ImageState]) (infer.DeleteResponse, error) {
	return infer.DeleteResponse{}, nil
}

func (k *image) settle(ctx context.Context, in ImageInputs) (ImageState, error) {
	state := ImageState{ImageInputs: in}
	var m manifest.Manifest
	if err := json.Unmarshal([]byte(in.Manifest), &m); err != nil {
		return state, fmt.Errorf("reading the manifest of image %s: %w", in.Name, err)
	}
	select {
	case k.turns <- struct{}{}:
	default:
		p.GetLogger(ctx).InfoStatus("waiting for other images")
		select {
		case k.turns <- struct{}{}:
		case <-ctx.Done():
			return state, context.Cause(ctx)
		}
	}
	defer func() { <-k.turns }()
	glance, err := images.NewGlance(k.Cloud)
	if err != nil {
		return state, err
	}
	syncer := images.Syncer{Glance: glance, Events: shown{ctx}, Source: k.Source, MemberLogin: k.MemberLogin, UploadedBy: in.Environment}
	results, err := syncer.Sync(ctx, &m)
	if err != nil {
		return state, err
	}
	state.ImageID, state.Action = results[0].ID, string(results[0].Action)
	return state, nil
}
