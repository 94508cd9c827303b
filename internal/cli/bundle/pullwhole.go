package bundle

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// whole pulls a bundle from a registry.
func (o pullOptions) whole(ctx context.Context, streams ui.Streams, address string) error {
	a, err := o.artifact(address)
	if err != nil {
		return err
	}
	folder, err := create(o.dir, o.platform)
	if err != nil {
		return err
	}
	defer folder.Close()
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	o.Sink, o.Keychain = progress, authn.DefaultKeychain
	cost, err := upstream.PullArtifact(ctx, folder, a, o.Options)
	progress.Close()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "bundle %s: %d items of %s; %d blobs (%s) downloaded, %d taken from other folders\n",
		o.dir, cost.Items, cost.Digest, cost.Blobs, ui.Bytes(cost.Bytes), cost.Reused)
	return err
}

// artifact checks all that is asked for before anything is fetched.
func (o pullOptions) artifact(address string) (upstream.Artifact, error) {
	ref, err := artifact.Reference(address)
	trust, trustErr := o.trust()
	wrong := []error{err, trustErr}
	if len(o.only)+len(o.set)+len(o.Mirrors) > 0 || o.pins != "" {
		wrong = append(wrong, fault.Usage(address, errors.New("--only, --set, --pins and --mirror are for pulls from upstream"), "leave them out: a registry has whole bundles"))
	}
	a := upstream.Artifact{Reference: ref, Trust: trust}
	for _, dir := range o.reuse {
		other, err := bundle.Open(dir)
		wrong, a.Reuse = append(wrong, err), append(a.Reuse, other)
	}
	return a, errors.Join(wrong...)
}

// upstreamOnly refuses what is for registries where upstream is pulled from.
func (o pullOptions) upstreamOnly() error {
	const remedy = "give its address, such as oci://registry.example.org/slipway/bundle:v0.1.0"
	if o.given() || len(o.reuse) > 0 {
		return fault.Usage("--key, --unsigned and --reuse", errors.New("they are for bundles in a registry"), remedy)
	}
	if own := source.Platform(); o.platform != "" && o.platform != own {
		return fault.Usage("--platform "+o.platform, errors.New("it is for bundles in a registry: from upstream come the files for "+own), remedy)
	}
	return nil
}
