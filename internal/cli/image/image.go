// Package image is `slipway image`: node images in Glance.
package image

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/images/source"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Try, upload, verify and retire node images",
		Long: `An image manifest lists the images that a cloud should have: where to download them,
their digests, and their properties in Glance. The commands read Slipway's own format,
azimuth-images' manifest.json and OSISM's lists. They work on the cloud of an
environment or on any other (--cloud); try needs none. See docs/guides/images.md.`,
	}
	cmd.AddCommand(newList(streams), newSync(streams), newUpload(streams), newVerify(streams), newPrune(streams), newManifest(streams), newTry(streams))
	return cmd
}

// options are the flags that several commands share.
type options struct {
	cloud            environment.CloudFlags
	manifest, bundle string
	override         manifest.Override
	format, progress string
}

func newOptions() *options { return &options{format: "table", progress: "auto"} }

// defaultManifest is the image manifest that commands read if none is named.
const defaultManifest = "images.yaml"

func (o *options) manifestFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&o.manifest, "manifest", "m", defaultManifest, "file or URL of the image manifest")
	flags.StringSliceVar(&o.override.Only, "only", nil, "keys or names of the images to work on (default: all)")
	flags.StringVar(&o.override.Visibility, "visibility", "", "visibility of all images, overrides the manifest")
	flags.StringVar(&o.override.Convert, "convert", "", "conversion of all qcow2 images, raw or none, overrides the manifest")
	flags.StringToStringVar(&o.override.Properties, "property", nil, "additional properties of all images")
}

func (o *options) cloudFlags(flags *pflag.FlagSet) {
	o.cloud.Add(flags)
	flags.StringVar(&o.bundle, "bundle", "", "folder of the bundle (default: that of the environment, else bundle)")
}

// read reads the manifest that the flags name.
func (o *options) read(ctx context.Context) (*manifest.Manifest, error) {
	text, err := source.Opener{}.ReadText(ctx, o.manifest)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(config.Source{Name: o.manifest, Text: text})
	if err != nil {
		return nil, err
	}
	return m.With(o.override)
}

// work runs a function with a syncer whose progress is shown. What is printed
// afterwards appears below the last line of progress.
func (o *options) work(ctx context.Context, streams ui.Streams, do func(*images.Syncer) error) error {
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	defer progress.Close()
	c, loaded, err := o.cloud.Open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	glance, err := images.NewGlance(c)
	if err != nil {
		return err
	}
	folder := o.bundle
	if loaded != nil {
		folder = cmp.Or(folder, string(loaded.Environment.Spec.Bundle))
	}
	return do(&images.Syncer{Glance: glance, Events: progress, Source: source.Opener{Bundle: cmp.Or(folder, "bundle")}, MemberLogin: environment.MemberLogin})
}
