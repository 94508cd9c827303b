// Command proofs runs what CI does not, and tells which test proves which
// acceptance row by which command, and when that last passed.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

type options struct {
	root, only, packages, fuzz string
	list, page, check, real    bool
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "folder of the repository")
	flag.StringVar(&o.only, "only", "", "run only these parts, by name, with commas between; also those that CI runs")
	flag.BoolVar(&o.list, "list", false, "name the parts")
	flag.BoolVar(&o.page, "page", false, "write docs/proofs.md")
	flag.BoolVar(&o.check, "check", false, "compare docs/proofs.md with the tests, and look for tests that nothing runs")
	flag.StringVar(&o.packages, "packages", "", "name the packages whose tests need this variable")
	flag.BoolVar(&o.real, "real", false, "name the packages that make real tests with the bundle and programs")
	flag.StringVar(&o.fuzz, "fuzz", "", "run each fuzz target this long, such as 1m")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "proofs:", err)
		os.Exit(1)
	}
}

func (o options) start(ctx context.Context) error {
	if o.list {
		for _, p := range parts() {
			fmt.Printf("%-12s make %-24s %-8s %s\n", p.name, p.target, p.by(), p.what)
		}
		return nil
	}
	if !o.page && !o.check && o.packages == "" && !o.real && o.fuzz == "" {
		return o.run(ctx)
	}
	s, err := read(o.root)
	switch {
	case err != nil:
		return err
	case o.packages != "":
		fmt.Println(strings.Join(packages(s.needing(o.packages)), " "))
		return nil
	case o.real:
		fmt.Println(strings.Join(packages(s.real(realVariables(), realFolders())), " "))
		return nil
	case o.fuzz != "":
		return fuzz(ctx, o.root, s, o.fuzz, os.Stdout)
	}
	return o.pages(ctx, s)
}

func (o options) run(ctx context.Context) error {
	names := strings.FieldsFunc(o.only, func(r rune) bool { return r == ',' })
	list, unknown := choose(names)
	if len(unknown) > 0 {
		return fmt.Errorf("no part %s: see -list", strings.Join(unknown, ", "))
	}
	p := &proofs{root: o.root, passes: filepath.Join(o.root, "docs", "proofs.json"), logs: filepath.Join(o.root, "proofs-logs"), out: os.Stdout, start: startMake(o.root)}
	return p.run(ctx, list)
}

// pages writes the page, or compares it.
func (o options) pages(ctx context.Context, s *source) error {
	all, err := commands(ctx, o.root, s)
	if err != nil {
		return err
	}
	passes, err := readPasses(filepath.Join(o.root, "docs", "proofs.json"))
	if err != nil {
		return err
	}
	rows, problems := claimed(s, all)
	problems = slices.Concat(s.problems, nowhere(s, all), problems)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	file := filepath.Join(o.root, "docs", "proofs.md")
	text := []byte(page(rows, passes))
	if !o.check {
		return write(file, text)
	}
	have, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	if !bytes.Equal(undated(have), undated(text)) {
		return fmt.Errorf("%s does not fit the tests: run make proofs-page", file)
	}
	return nil
}
