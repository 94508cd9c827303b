// Command bench measures how soon a command begins, and the sandbox: how soon it answers, how
// long calls take, what thousands of servers and ports cost, and how soon machines are booted.
// It runs the program as a user does, in a process of its own; all but the machines with driver
// none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	slipway, bundle, output string
	starts, calls           int
	servers, ports, limit   int
	machines                int
}

func main() {
	var o options
	flag.StringVar(&o.slipway, "slipway", "bin/slipway", "the program to measure")
	flag.StringVar(&o.output, "o", "table", "output format: "+strings.Join(ui.Formats(), ", "))
	flag.IntVar(&o.starts, "starts", 5, "how often the sandbox is started")
	flag.IntVar(&o.calls, "calls", 2000, "how many calls of each kind are measured; 0 measures machines only")
	flag.IntVar(&o.servers, "servers", 2000, "how many servers are made")
	flag.IntVar(&o.ports, "ports", 10000, "how many ports are made beside those of the servers")
	flag.IntVar(&o.limit, "limit", 100, "size of a page when they are listed")
	flag.StringVar(&o.bundle, "bundle", "bundle", "the bundle with the image of machines")
	flag.IntVar(&o.machines, "machines", 20, "how many machines are booted at once, as root; 0 boots none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) (err error) {
	if o.slipway, err = filepath.Abs(o.slipway); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "slipway-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var all []measure
	if o.calls > 0 {
		if all, err = o.measureService(ctx, dir); err != nil {
			return err
		}
	}
	if o.machines > 0 {
		some, err := o.booting(ctx, filepath.Join(dir, "machines"))
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	return ui.Output(os.Stdout, o.output, all, table(all))
}

// measureService measures what needs no machines.
func (o options) measureService(ctx context.Context, dir string) ([]measure, error) {
	all, err := o.measureProgram(ctx)
	if err != nil {
		return nil, err
	}
	starts, err := o.measureStart(ctx, dir)
	if err != nil {
		return nil, err
	}
	all = append(all, starts...)
	some, err := o.measureCalls(ctx, filepath.Join(dir, "measured"))
	return append(all, some...), err
}

// measureCalls measures latency and scale.
func (o options) measureCalls(ctx context.Context, dir string) (all []measure, err error) {
	box, err := startBox(ctx, o.slipway, dir, "--driver", "none")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.stop(context.WithoutCancel(ctx))) }()
	b, err := newBench(ctx, o, box, "", 0)
	if err != nil {
		return nil, fmt.Errorf("preparing the sandbox: %w", err)
	}
	for _, part := range []func(context.Context) ([]measure, error){b.latency, b.scale} {
		some, err := part(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
