package bundle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/ui"
)

type ensureOptions struct {
	dir, progress string
	// own rebuilds the items that hold another slipway's controllers.
	own bool
	// probe is an address that answers if there is internet access.
	probe string
	// build builds items from source.
	build func(ctx context.Context, streams ui.Streams, items []string) error
}

// reachTime is how long the internet may take to answer.
const reachTime = 3 * time.Second

func newEnsure(streams ui.Streams) *cobra.Command {
	o := ensureOptions{progress: "auto", probe: "https://github.com"}
	cmd := &cobra.Command{
		Use:   "ensure",
		Short: "Complete the bundle: use what is there, pull or build the rest",
		Long: `Completes the bundle in the quickest way. Items that are present are used. Missing
items are pulled from upstream if there is internet access and a pinned digest; the
rest are built from source. It prints which way it takes.`,
		Example: `  slipway bundle ensure
  slipway bundle ensure --dir /srv/bundle
  slipway bundle ensure --own   # after another slipway was built from source`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.build = o.fromSource
			return o.run(cmd.Context(), streams)
		},
	}
	dirFlag(cmd, &o.dir)
	cmd.Flags().BoolVar(&o.own, "own", false, "rebuild the items that contain the controllers of another slipway binary")
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

func (o ensureOptions) run(ctx context.Context, streams ui.Streams) error {
	missing, err := o.missing()
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		fmt.Fprintf(streams.Out, "bundle %s: complete, all %d items are present\n", o.dir, len(component.All()))
		return o.others(ctx, streams)
	}
	if missing, err = o.pull(ctx, streams, missing); err != nil {
		return err
	}
	if len(missing) > 0 {
		cpus := runtime.NumCPU()
		fmt.Fprintf(streams.Out, "bundle %s: building %d items from source, in about %.0f minutes on %d processors\n", o.dir, len(missing), source.Duration(missing, cpus).Minutes(), cpus)
		if err := o.build(ctx, streams, missing); err != nil {
			return err
		}
	}
	return o.others(ctx, streams)
}

func (o ensureOptions) fromSource(ctx context.Context, streams ui.Streams, items []string) error {
	build := buildOptions{dir: o.dir, from: "source", progress: o.progress, format: "table",
		Options: source.Options{Only: items, DebianSuite: source.DefaultSuite}}
	return build.run(ctx, streams)
}

// others reports which items another slipway built. Without --own they are used
// anyway: other machine images would mean that machines are replaced.
func (o ensureOptions) others(ctx context.Context, streams ui.Streams) error {
	folder, err := bundle.Open(o.dir)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding slipway's own binary: %w", err)
	}
	others, err := source.OfAnotherBinary(folder.Bill(), program)
	if err == nil && o.own && len(others) > 0 {
		return o.build(ctx, streams, others)
	}
	if len(others) > 0 {
		fmt.Fprintf(streams.Out, "bundle %s: %s contain the controllers of another slipway binary; to rebuild them with this one: slipway bundle ensure --own --dir %s\n",
			o.dir, strings.Join(others, ", "), o.dir)
	}
	return err
}

// missing names the components that are missing from the bundle.
func (o ensureOptions) missing() ([]string, error) {
	var names []string
	folder, err := bundle.Open(o.dir)
	if err != nil && !errors.Is(err, bundle.ErrNone) {
		return nil, err
	}
	for _, c := range component.All() {
		if folder == nil || folder.Bill().Item(c.Name) == nil {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// pull fetches the components that have a pin, if there is internet access, and
// returns those that are still missing and have to be built.
func (o ensureOptions) pull(ctx context.Context, streams ui.Streams, missing []string) ([]string, error) {
	pins, err := component.UpstreamPins()
	if err != nil {
		return nil, err
	}
	var pinned []string
	for _, name := range missing {
		if _, ok := pins.Pin(name); ok {
			pinned = append(pinned, name)
		}
	}
	if len(pinned) == 0 {
		return missing, nil
	}
	if err := o.reach(ctx); err != nil {
		fmt.Fprintf(streams.Out, "bundle %s: no internet access, so nothing is pulled (%v)\n", o.dir, err)
		return missing, nil
	}
	fmt.Fprintf(streams.Out, "bundle %s: pulling %d items from upstream\n", o.dir, len(pinned))
	pull := pullOptions{dir: o.dir, progress: o.progress, only: pinned}
	pull.Jobs = 4
	if err := pull.run(ctx, streams); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		fmt.Fprintf(streams.Err, "warning: %v\n", err)
	}
	return o.missing()
}

func (o ensureOptions) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, o.probe, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
