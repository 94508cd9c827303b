package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type pullOptions struct {
	dir, pins, progress, platform string
	only, reuse                   []string
	set                           map[string]string
	trustOptions
	upstream.Options
}

func newPull(streams ui.Streams) *cobra.Command {
	o := pullOptions{progress: "auto"}
	cmd := &cobra.Command{
		Use:   "pull [oci://REGISTRY/REPOSITORY:TAG]",
		Short: "Download a bundle from a registry, from upstream or from mirrors",
		Long: `With an address, fetches a whole bundle that ` + "`slipway bundle push`" + ` uploaded, or that
` + "`slipway bundle serve`" + ` serves. Its signature is checked first, with --key. Only blobs that
the folder does not have are fetched; --reuse takes them from other folders too, such
as the bundle of the release before. The folder becomes that bundle.

Without an address, fetches release files and images from their projects' servers and registries, or
from mirrors. Only content whose digest is pinned is accepted. The pins are built
into slipway; --pins adds others, such as those that ` + "`slipway bundle pin`" + `
writes. Interrupted downloads resume where they stopped. The proxy comes from
HTTPS_PROXY, registry credentials from the configuration of docker or podman.`,
		Example: `  slipway bundle pull oci://registry.example.org/slipway/bundle:v0.1.0 --key bundle.pub
  slipway bundle pull oci://192.0.2.10:5000/slipway/bundle:latest --key bundle.pub --dir new --reuse bundle
  slipway bundle pull
  slipway bundle pull --only k3s --mirror https://github.com=https://mirror.example.org/github
  slipway bundle pull --pins pins.yaml --mirror registry.k8s.io=registry.example.org/k8s`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return o.whole(cmd.Context(), streams, args[0])
			}
			if err := o.upstreamOnly(); err != nil {
				return err
			}
			return o.run(cmd.Context(), streams)
		},
	}
	dirFlag(cmd, &o.dir)
	flags := cmd.Flags()
	flags.StringSliceVar(&o.only, "only", nil, "fetch only these items (default: all that can be pulled)")
	flags.StringToStringVar(&o.set, "set", nil, "use other versions of parts, such as capo=v0.14.3; they need pins and must fit together")
	flags.StringVar(&o.pins, "pins", "", "file with more pins")
	flags.StringToStringVar(&o.Mirrors, "mirror", nil, "mirror to fetch from: URL prefix=URL prefix, or registry=registry")
	flags.IntVar(&o.Jobs, "jobs", 4, "how many downloads to run at once")
	flags.StringSliceVar(&o.reuse, "reuse", nil, "folder of another bundle to take equal blobs from; can be repeated")
	platformFlag(flags, &o.platform)
	o.trustOptions.flags(flags)
	ui.ProgressFlag(flags, &o.progress)
	return cmd
}

func (o pullOptions) run(ctx context.Context, streams ui.Streams) error {
	pins, err := readPins(o.pins)
	if err != nil {
		return err
	}
	versions, err := component.DefaultVersions().With(o.set)
	if err != nil {
		return err
	}
	components, err := pullable(versions, o.only, pins)
	if err != nil {
		return err
	}
	folder, err := bundle.Create(o.dir, source.Platform())
	if err != nil {
		return err
	}
	defer folder.Close()
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	o.Pins, o.Sink, o.Keychain = pins, progress, authn.DefaultKeychain
	err = upstream.Pull(ctx, folder, components, o.Options)
	progress.Close()
	return err
}

// readPins returns slipway's own pins with those of a file, if one is named.
func readPins(file string) (*component.Pins, error) {
	pins, err := component.UpstreamPins()
	if err != nil || file == "" {
		return pins, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.Usage("--pins", err, "name a file that `slipway bundle pin` wrote")
	}
	more, err := component.ParsePins(file, text)
	if err != nil {
		return nil, err
	}
	return pins, pins.Merge(file, more)
}

// pullable returns the named components, or all that have a pin.
func pullable(versions component.Versions, only []string, pins *component.Pins) ([]component.Component, error) {
	if len(only) > 0 {
		return named(versions, only)
	}
	var components []component.Component
	for _, c := range component.AllOf(versions) {
		if _, ok := pins.Pin(c.Name); ok {
			components = append(components, c)
		}
	}
	return components, nil
}

// named returns the components of those names; each unknown one is an error.
func named(versions component.Versions, names []string) ([]component.Component, error) {
	all := component.Known(versions)
	var components []component.Component
	var unknown []error
	for _, name := range names {
		i := slices.IndexFunc(all, func(c component.Component) bool { return c.Name == name })
		if i < 0 {
			unknown = append(unknown, fault.Usage("item "+name, fmt.Errorf("unknown"), "see `slipway bundle list` for the names"))
			continue
		}
		components = append(components, all[i])
	}
	return components, errors.Join(unknown...)
}
