package environment

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
)

// CloudFlags are the flags of commands that work on the cloud of an
// environment, or on any other.
type CloudFlags struct {
	Flags
	Cloud, Region string
}

// Add adds the flags.
func (f *CloudFlags) Add(flags *pflag.FlagSet) {
	f.Flags.Add(flags)
	flags.StringVar(&f.Cloud, "cloud", "", "entry of clouds.yaml to use; no environment file is read then")
	flags.StringVar(&f.Region, "region", "", "region of the cloud")
}

// Open logs in to the cloud that the flags name, else to the environment's, else,
// if there is no environment file, to that of OS_CLOUD. The environment is nil if
// none was read.
func (f *CloudFlags) Open(ctx context.Context) (*cloud.Cloud, *config.Loaded, error) {
	options := cloud.Options{Cloud: f.Cloud, Region: f.Region, Env: System(), UserAgent: UserAgent()}
	if f.Cloud != "" || f.absent() {
		c, err := cloud.Open(ctx, options)
		return c, nil, err
	}
	loaded, err := f.Load()
	if err != nil {
		return nil, nil, err
	}
	options = CloudOptions(loaded)
	if f.Region != "" {
		options.Region = f.Region
	}
	c, err := cloud.Open(ctx, options)
	return c, loaded, err
}

// MemberLogin logs in to an entry of clouds.yaml, for a project that an image
// is shared with.
func MemberLogin(ctx context.Context, name string) (*gophercloud.ServiceClient, error) {
	c, err := cloud.Open(ctx, cloud.Options{Cloud: name, Env: System(), UserAgent: UserAgent()})
	if err != nil {
		return nil, err
	}
	return c.Image()
}

// absent reports that no environment file was named and none exists.
func (f *CloudFlags) absent() bool {
	if f.Name != "" || len(f.Files) != 1 || f.Files[0] != config.DefaultFile {
		return false
	}
	_, err := os.Stat(config.DefaultFile)
	return errors.Is(err, fs.ErrNotExist)
}
