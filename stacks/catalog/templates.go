package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/images/template"
)

// ClusterTemplatesInputs are the inputs of a set of cluster templates.
type ClusterTemplatesInputs struct {
	// Endpoint is Magnum's URL with its version; "" means that of the catalog.
	Endpoint string `pulumi:"endpoint"`
	// Authority holds PEM certificates by which the endpoint is trusted, in addition
	// to the system's.
	Authority string `pulumi:"authority"`
	// Set is the name of the set, Names those of its templates.
	Set   string   `pulumi:"set"`
	Names []string `pulumi:"names"`
	// Images are the IDs of the environment's images, by name: if one changes, its
	// templates are replaced.
	Images map[string]string `pulumi:"images"`
	// File is the file of the set, as JSON.
	File string `pulumi:"file"`
}

// ClusterTemplatesState is the state of a set of cluster templates.
type ClusterTemplatesState struct{ ClusterTemplatesInputs }

// ClusterTemplates is a set of cluster templates in a program.
type ClusterTemplates struct{ pulumi.CustomResourceState }

// ClusterTemplatesRefs are the inputs of NewClusterTemplates.
type ClusterTemplatesRefs struct {
	// Endpoint is Magnum's URL with its version, such as
	// https://magnum.example.org/v1; nil means that of the catalog.
	Endpoint pulumi.StringInput
	// Authority holds additional PEM certificates of the endpoint; it may be nil.
	Authority pulumi.StringInput
	File      *template.File
	// Images are IDs by name.
	Images pulumi.StringMapInput
}

// NewClusterTemplates adds a set of cluster templates to the program. It must depend on
// the resource that serves Magnum's API.
func NewClusterTemplates(ctx *pulumi.Context, name string, refs ClusterTemplatesRefs, options ...pulumi.ResourceOption) (*ClusterTemplates, error) {
	text, err := json.Marshal(refs.File)
	if err != nil {
		return nil, fmt.Errorf("encoding the cluster templates: %w", err)
	}
	in := ClusterTemplatesInputs{Set: refs.File.Metadata.Name, Names: []string{}, Images: map[string]string{}, File: string(text)}
	for _, t := range refs.File.Spec.Templates {
		in.Names = append(in.Names, refs.File.NameOf(t))
	}
	inputs := properties(in)
	if refs.Endpoint != nil {
		inputs["endpoint"] = refs.Endpoint
	}
	if refs.Authority != nil {
		inputs["authority"] = refs.Authority
	}
	if refs.Images != nil {
		inputs["images"] = refs.Images
	}
	r := &ClusterTemplates{}
	return r, ctx.RegisterResource("slipway:catalog:ClusterTemplates", name, inputs, r, options...)
}

// clusterTemplates syncs sets of templates.
type clusterTemplates struct{ Options }

// Annotate names the resource's type.
func (*clusterTemplates) Annotate(a infer.Annotator) { a.SetToken("catalog", "ClusterTemplates") }

// Create creates the templates, or adopts those of an earlier run.
func (k *clusterTemplates) Create(ctx context.Context, r infer.CreateRequest[ClusterTemplatesInputs]) (infer.CreateResponse[ClusterTemplatesState], error) {
	response := infer.CreateResponse[ClusterTemplatesState]{ID: r.Inputs.Set, Output: ClusterTemplatesState{r.Inputs}}
	if r.DryRun {
		return response, nil
	}
	return response, k.sync(ctx, r.Inputs)
}

// Update makes Magnum match the file.
func (k *clusterTemplates) Update(ctx context.Context, r infer.UpdateRequest[ClusterTemplatesInputs, ClusterTemplatesState]) (infer.UpdateResponse[ClusterTemplatesState], error) {
	response := infer.UpdateResponse[ClusterTemplatesState]{Output: ClusterTemplatesState{r.Inputs}}
	if r.DryRun {
		return response, nil
	}
	return response, k.sync(ctx, r.Inputs)
}

// Diff changes everything in place.
func (k *clusterTemplates) Diff(_ context.Context, r infer.DiffRequest[ClusterTemplatesInputs, ClusterTemplatesState]) (infer.DiffResponse, error) {
	return diff(r.State.ClusterTemplatesInputs, r.Inputs, "file"), nil
}

// Delete keeps the templates: they vanish with the endpoint that serves them, and if
// that stays, other projects may use them.
func (k *clusterTemplates) Delete(context.Context, infer.DeleteRequest[ClusterTemplatesState]) (infer.DeleteResponse, error) {
	return infer.DeleteResponse{}, nil
}

func (k *clusterTemplates) sync(ctx context.Context, in ClusterTemplatesInputs) error {
	var file template.File
	if err := json.Unmarshal([]byte(in.File), &file); err != nil {
		return fmt.Errorf("reading the cluster templates of %s: %w", in.Set, err)
	}
	// By its ID: the image of an older bundle has the same name, and stays while
	// machines use it.
	for i, t := range file.Spec.Templates {
		file.Spec.Templates[i].Image = cmp.Or(in.Images[t.Image], t.Image)
	}
	syncer, err := template.NewAt(k.Cloud, in.Endpoint, in.Authority, shown{ctx})
	if err != nil {
		return err
	}
	changes, failed := syncer.Plan(ctx, &file)
	_, err = syncer.Sync(ctx, changes)
	return errors.Join(failed, err)
}
