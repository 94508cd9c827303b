// Package vault opens the backups of the environment that the flags name.
package vault

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"os"

	"filippo.io/age"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/location"
	backuptarget "github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Flags name the environment and override where its backups are.
type Flags struct {
	environment.Flags
	Target string
}

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	f.Flags.Add(flags)
	flags.StringVar(&f.Target, "target", "", "where the backups are: file://…, swift://… or s3://…; default spec.backup.target")
}

// Open opens the backups of an environment for reading. url overrides
// spec.backup.target unless it is "".
func Open(ctx context.Context, loaded *config.Loaded, url string) (*backup.Repository, error) {
	return open(ctx, loaded, url, "", backup.Options{})
}

// OpenSeed opens the backups of the seed's datastore, which the seed makes by itself, for
// reading. They are in a folder of their own at the same target.
func OpenSeed(ctx context.Context, loaded *config.Loaded, url string) (*backup.Repository, error) {
	return open(ctx, loaded, url, location.Seed, backup.Options{})
}

// OpenToWrite opens them for a backup, with the writer's key of this environment,
// which the first backup creates. recipients override spec.backup.recipients unless
// they are empty. full stores everything again.
func OpenToWrite(ctx context.Context, loaded *config.Loaded, url string, recipients []string, full bool) (*backup.Repository, error) {
	o := backup.Options{Recipients: recipients, Full: full}
	if spec := loaded.Environment.Spec.Backup; len(recipients) == 0 && spec != nil {
		o.Recipients = spec.Recipients
	}
	if len(o.Recipients) == 0 {
		return nil, fault.Usage("spec.backup.recipients", errors.New("nobody could read the backup"), "make a key with age-keygen, keep it away from the cloud, and write its public key into the file, or give it by --recipient")
	}
	var err error
	if o.Key, err = target.WriterKey(loaded); err != nil {
		return nil, err
	}
	return open(ctx, loaded, url, "", o)
}

func open(ctx context.Context, loaded *config.Loaded, url, folder string, o backup.Options) (*backup.Repository, error) {
	spec := loaded.Environment.Spec.Backup
	if spec == nil {
		spec = &config.Backup{}
	}
	if url = cmp.Or(url, spec.Target); url == "" {
		return nil, fault.Usage("spec.backup.target", errors.New("no target for backups is named"), "write spec.backup into the environment file, or name it by --target (of backup) or --from (of recover and undo)")
	}
	at, err := location.Parse(url)
	if err != nil {
		return nil, fault.Usage("target "+url, err, "write file://./backups, swift://container/prefix or s3://bucket/prefix?endpoint=https://…")
	}
	if at = at.In(loaded.Dir); folder != "" {
		at = at.Below(folder)
	}
	access, err := access(ctx, loaded, at, string(spec.CAFile))
	if err != nil {
		return nil, err
	}
	t, err := backuptarget.Open(at, access)
	if err != nil {
		return nil, err
	}
	o.Environment, o.Signers = loaded.Environment.Metadata.Name, spec.Signers
	return backup.Open(ctx, t, o)
}

// access is what the target needs: the environment's cloud, or the login of S3,
// which comes from the variables and files of AWS's own tools like that of a state.
func access(ctx context.Context, loaded *config.Loaded, at location.Location, caFile string) (backuptarget.Access, error) {
	a := backuptarget.Access{Swift: func() (*gophercloud.ServiceClient, error) {
		c, err := cloud.Open(ctx, environment.CloudOptions(loaded))
		if err != nil {
			return nil, err
		}
		return c.ObjectStore()
	}}
	if at.Scheme != location.S3 {
		return a, nil
	}
	login, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return a, fault.Usage("login of S3", err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
	}
	a.S3 = login.Credentials
	authorities := loaded.TrustBundle
	if caFile != "" {
		more, err := os.ReadFile(caFile)
		if err != nil {
			return a, fault.Usage("spec.backup.caFile", err, "name a PEM file")
		}
		authorities = append(append([]byte{}, authorities...), more...)
	}
	if len(authorities) == 0 {
		return a, nil
	}
	if a.Authorities, err = x509.SystemCertPool(); err != nil {
		a.Authorities = x509.NewCertPool()
	}
	if !a.Authorities.AppendCertsFromPEM(authorities) {
		return a, fault.Usage("spec.backup.caFile", errors.New("it contains no certificate"), "name a PEM file")
	}
	return a, nil
}

// Identities reads files of age-keygen.
func Identities(paths []string) (all []age.Identity, err error) {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, fault.Usage(path, err, "give the file with the age identity")
		}
		found, err := age.ParseIdentities(file)
		file.Close()
		if err != nil {
			return nil, fault.Usage(path, errors.New("this is no file with an age identity"), "give a file from age-keygen") // the library's error could quote a key
		}
		all = append(all, found...)
	}
	return all, nil
}
