package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/ui"
)

type pinOptions struct {
	file, progress string
	set            map[string]string
	add            bool
	upstream.Options
}

func newPin(streams ui.Streams) *cobra.Command {
	o := pinOptions{progress: "auto"}
	cmd := &cobra.Command{
		Use:   "pin [ITEM...]",
		Short: "Record the digests that upstream serves now",
		Long: `Fetches items from upstream and writes their digests to a file that
` + "`slipway bundle pull --pins`" + ` reads. It trusts what it downloads this once: compare
the digests with those that the projects publish before you use the file.
Without arguments it pins every item that has no pin of its version yet. With --add, the
pins that the file has stay.`,
		Example: "  slipway bundle pin k3s --file pins.yaml\n  slipway bundle pull --pins pins.yaml",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.file, "file", "pins.yaml", "where to write the pins")
	flags.StringToStringVar(&o.set, "set", nil, "use other versions of parts, such as capo=v0.14.3; they must fit together")
	flags.StringToStringVar(&o.Mirrors, "mirror", nil, "mirror to fetch from: URL prefix=URL prefix, or registry=registry")
	flags.IntVar(&o.Jobs, "jobs", 4, "how many downloads to run at once")
	flags.BoolVar(&o.add, "add", false, "add to the pins of the file, instead of replacing it")
	ui.ProgressFlag(flags, &o.progress)
	return cmd
}

func (o pinOptions) run(ctx context.Context, streams ui.Streams, names []string) error {
	components, err := o.components(names)
	if err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	o.Sink, o.Keychain = progress, authn.DefaultKeychain
	pins, err := upstream.Pin(ctx, components, o.Options)
	progress.Close()
	if pins == nil || len(pins.Entries) == 0 {
		return err
	}
	if writeErr := o.write(pins); writeErr != nil {
		return errors.Join(err, fmt.Errorf("writing pins: %w", writeErr))
	}
	fmt.Fprintf(streams.Out, "%d pins written to %s\n", len(pins.Entries), o.file)
	return err
}

// components returns the named ones, or those that upstream publishes and that
// have no pin.
func (o pinOptions) components(names []string) ([]component.Component, error) {
	versions, err := component.DefaultVersions().With(o.set)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		return named(versions, names)
	}
	pins, err := component.UpstreamPins()
	if err != nil {
		return nil, err
	}
	var components []component.Component
	for _, c := range component.AllOf(versions) {
		_, published := c.Upstream()
		pin, pinned := pins.Pin(c.Name)
		if published && (!pinned || pin.Version != c.Version) {
			components = append(components, c)
		}
	}
	return components, nil
}

// write writes the pins, with --add after those that the file has, whose head of
// comments stays.
func (o pinOptions) write(pins *component.Pins) error {
	var head string
	if o.add {
		old, err := os.ReadFile(o.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			all, err := component.ParsePins(o.file, old)
			if err != nil {
				return err
			}
			for _, pin := range pins.Entries {
				all.Set(pin)
			}
			pins = all
		}
		for line := range strings.Lines(string(old)) {
			if !strings.HasPrefix(line, "#") {
				break
			}
			head += line
		}
	}
	text, err := pins.YAML()
	if err != nil {
		return err
	}
	return ui.WriteFile(o.file, 0o644, func(w io.Writer) error { // whole or not at all: the pins of others are in it
		_, err := w.Write(append([]byte(head), text...))
		return err
	})
}
