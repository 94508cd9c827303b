package bundle

import (
	"cmp"
	"errors"
	"os"

	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/fault"
)

// passwordVariable holds the password of a secret key: arguments can be read by
// other users of the machine.
const passwordVariable = "SLIPWAY_BUNDLE_KEY_PASSWORD"

// trustOptions say whose bundles are accepted.
type trustOptions struct {
	keys     []string
	unsigned bool
}

func (o *trustOptions) flags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.keys, "key", nil, "public key of minisign that the bundle must be signed with, or its file; can be repeated")
	flags.BoolVar(&o.unsigned, "unsigned", false, "accept a bundle without checking who signed it")
}

func (o trustOptions) given() bool { return len(o.keys) > 0 || o.unsigned }

func (o trustOptions) trust() (artifact.Trust, error) { return artifact.NewTrust(o.keys, o.unsigned) }

// platformFlag adds --platform.
func platformFlag(flags *pflag.FlagSet, platform *string) {
	flags.StringVar(platform, "platform", "", "machines that the bundle must be for, such as linux/arm64 (default: Linux with this machine's architecture)")
}

// create opens a folder for a bundle of a platform, "" being this machine's.
func create(dir, platform string) (*bundle.Folder, error) {
	return bundle.Create(dir, cmp.Or(platform, source.Platform()))
}

// openSigned opens a bundle that is to be given to others. It must be signed,
// unless that is not asked for, and whole.
func openSigned(dir string, unsigned bool) (*bundle.Folder, error) {
	folder, err := bundle.Open(dir)
	if err != nil {
		return nil, err
	}
	_, signature, err := folder.BillText()
	if err == nil && signature == nil && !unsigned {
		err = fault.Usage(dir, errors.New("the bundle is not signed"), "sign it with slipway bundle sign --dir "+dir+", or pass it on as it is with --unsigned")
	}
	return folder, err
}

func password() string { return os.Getenv(passwordVariable) }
