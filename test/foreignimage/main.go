// Command foreignimage makes a cloud image of Debian's packages alone, to try a seed of
// another's image in the sandbox: foreignimage [-suite bookworm] [-mirror URL] FILE.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-sh/slipway/test/foreignimage/image"
)

func main() {
	var o image.Options
	flag.StringVar(&o.Suite, "suite", "", "Debian's release (default bookworm)")
	flag.StringVar(&o.Mirror, "mirror", "", "Debian's archive (default deb.debian.org)")
	packages := flag.String("packages", "", "more packages, separated by commas")
	flag.DurationVar(&o.Limit, "limit", 20*time.Minute, "how long it may take")
	flag.Parse()
	o.File, o.Packages = flag.Arg(0), strings.FieldsFunc(*packages, func(r rune) bool { return r == ',' })
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	begin := time.Now()
	if err := image.Build(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "foreignimage:", err)
		os.Exit(1)
	}
	fmt.Printf("%s after %.0f s\n", o.File, time.Since(begin).Seconds())
}
