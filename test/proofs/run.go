package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// proofs runs parts.
type proofs struct {
	root, passes, logs string
	out                io.Writer
	// start does a part's target, with its output in a writer.
	start func(ctx context.Context, target string, out io.Writer) error
}

// outcome is what became of a part.
type outcome struct {
	part part
	took time.Duration
	err  error
}

// run does parts one after the other, also after one failed, and tells of each
// in a table at the end. A part that fails makes it fail.
func (p *proofs) run(ctx context.Context, list []part) error {
	var outcomes []outcome
	for _, next := range list {
		if ctx.Err() != nil {
			outcomes = append(outcomes, outcome{next, 0, ctx.Err()})
			continue
		}
		began := time.Now()
		err := p.one(ctx, next)
		done := outcome{next, time.Since(began), err}
		outcomes = append(outcomes, done)
		if ctx.Err() != nil {
			continue // what was interrupted says nothing
		}
		if err := p.keep(done); err != nil {
			return err
		}
	}
	return p.table(outcomes)
}

func (p *proofs) one(ctx context.Context, next part) error {
	fmt.Fprintf(p.out, "=== %s: make %s\n", next.name, next.target)
	if err := os.MkdirAll(p.logs, 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(p.logs, next.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	return p.start(ctx, next.target, io.MultiWriter(p.out, log))
}

// keep records an outcome at once: a later part may take hours.
func (p *proofs) keep(o outcome) error {
	now, err := newPass(p.root, o.part.name, o.took, o.err)
	if err != nil {
		return err
	}
	passes, err := readPasses(p.passes)
	if err != nil {
		return err
	}
	return writePasses(p.passes, record(passes, now))
}

func (p *proofs) table(outcomes []outcome) error {
	var bad []string
	fmt.Fprintln(p.out)
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PART\tRESULT\tTIME\tLOG")
	for _, o := range outcomes {
		result := passed
		if o.err != nil {
			result = failed + " (" + o.err.Error() + ")"
			bad = append(bad, o.part.name)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", o.part.name, result, o.took.Round(time.Second), filepath.Join(p.logs, o.part.name+".log"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(bad, ", "))
	}
	return nil
}

// startMake runs a target in a folder. An interruption reaches make, which ends
// what it started.
func startMake(root string) func(context.Context, string, io.Writer) error {
	return func(ctx context.Context, target string, out io.Writer) error {
		cmd := exec.CommandContext(ctx, "make", target)
		cmd.Dir, cmd.Stdout, cmd.Stderr = root, out, out
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = time.Minute
		return cmd.Run()
	}
}

// fuzz runs each fuzz target for a while, and fails if one of them does.
func fuzz(ctx context.Context, root string, s *source, time string, out io.Writer) error {
	var bad []string
	for _, f := range s.tests() {
		if !strings.HasPrefix(f.name, "Fuzz") {
			continue
		}
		fmt.Fprintf(out, "=== %s of ./%s for %s\n", f.name, f.dir, time)
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+f.name+"$", "-fuzztime", time, "./"+f.dir)
		cmd.Dir, cmd.Stdout, cmd.Stderr = root, out, out
		if err := cmd.Run(); err != nil {
			bad = append(bad, f.dir+"."+f.name)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("fuzzing found something in %s", strings.Join(bad, ", "))
	}
	return nil
}
