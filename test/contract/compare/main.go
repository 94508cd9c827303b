// Command compare runs the contract suite on the sandbox and on another cloud,
// and tells where they differ. Each difference has to be explained in
// test/contract/differences.yaml, and each explanation has to be of a difference.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

type options struct {
	differences, page, sandbox, cloud, folder string
	update                                    bool
}

func main() {
	var o options
	flag.StringVar(&o.differences, "differences", "test/contract/differences.yaml", "the differences that are explained")
	flag.StringVar(&o.page, "page", "docs/guides/sandbox.md", "page whose table, between markers, is of the two runs")
	flag.StringVar(&o.sandbox, "sandbox", "", "events of go test -json of a run on the sandbox; empty runs it")
	flag.StringVar(&o.cloud, "cloud", "", "events of a run on the cloud; empty runs it on the cloud of OS_CLOUD")
	flag.StringVar(&o.folder, "suite", "test/contract", "folder of the suite")
	flag.BoolVar(&o.update, "update", false, "write the table into the page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	explained, err := readDifferences(o.differences)
	if err != nil {
		return err
	}
	areas, err := readAreas(o.folder)
	if err != nil {
		return err
	}
	sandbox, err := o.results(ctx, o.sandbox, withoutCloud(os.Environ()))
	if err != nil {
		return fmt.Errorf("on the sandbox: %w", err)
	}
	if o.cloud == "" && os.Getenv("OS_CLOUD") == "" {
		return fmt.Errorf("OS_CLOUD names no cloud: make devcloud-up tells one")
	}
	cloud, err := o.results(ctx, o.cloud, os.Environ())
	if err != nil {
		return fmt.Errorf("on the cloud: %w", err)
	}
	table := tabulate(areas, sandbox, cloud, explained)
	fmt.Print(table)
	if wrong := judge(sandbox, cloud, explained); len(wrong) > 0 {
		return fmt.Errorf("%d tests are not as %s says:\n%s", len(wrong), o.differences, strings.Join(wrong, "\n"))
	}
	return writeTable(o.page, table, o.update)
}

// withoutCloud is an environment in which the suite starts a sandbox.
func withoutCloud(environment []string) []string {
	var rest []string
	for _, v := range environment {
		if !strings.HasPrefix(v, "OS_") {
			rest = append(rest, v)
		}
	}
	return rest
}
