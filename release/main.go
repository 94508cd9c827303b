// Command release makes the files of a release: archives and packages with a
// static program, its completions and manual pages, a container image, a bill of
// materials, release notes, and digests with a signature. Two runs of the same
// commit by the same Go make the same bytes, wherever they run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// The variables with the key. A key is never a command-line argument: other
// users of the machine can read those.
const (
	keyVariable      = "SLIPWAY_RELEASE_KEY"
	passwordVariable = "SLIPWAY_RELEASE_KEY_PASSWORD"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{key: os.Getenv(keyVariable), password: os.Getenv(passwordVariable), log: os.Stderr}
	twice := false
	flag.StringVar(&o.version, "version", "", "version of the release, such as v0.1.0")
	flag.StringVar(&o.root, "root", "..", "folder of the repository")
	flag.StringVar(&o.out, "out", "", "folder for the files; one that is there is replaced (default: dist in the repository)")
	flag.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64,darwin/arm64", "platforms to build for")
	flag.BoolVar(&o.unsigned, "unsigned", false, "make no signature")
	flag.BoolVar(&o.dirty, "dirty", false, "accept changes that are not committed")
	flag.BoolVar(&twice, "twice", false, "make the release in two clones of the repository, and compare each byte")
	flag.Parse()
	if err := run(ctx, o, twice, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, twice bool, rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("%q is not understood: see -help", rest[0])
	}
	o.program, o.versions = "slipway", "github.com/slipway-sh/slipway/internal/component"
	if err := o.validate(); err != nil {
		return err
	}
	if twice {
		return compareTwo(ctx, o)
	}
	return makeRelease(ctx, o)
}

// validate tells all that is wrong at once.
func (o *options) validate() error {
	var wrong []error
	if !versionForm.MatchString(o.version) {
		wrong = append(wrong, fmt.Errorf("VERSION: %q is not a version such as v0.1.0 or v0.1.0-rc.1", o.version))
	}
	var err error
	if o.targets, err = parsePlatforms(o.platforms); err != nil {
		wrong = append(wrong, err)
	}
	switch {
	case o.unsigned:
	case o.key == "":
		wrong = append(wrong, fmt.Errorf("%s: no key to sign with; set it to the file of a key of minisign, or leave the signature out with UNSIGNED=1", keyVariable))
	default:
		if o.signer, err = readKey(o.key, o.password); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}
