package target

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/scheduledbackup"
	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/rhythm"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// WriterKey reads the key of the environment's writer of backups, or makes one. The
// management cluster has the same: so what one of them stored, the other does not store
// again, and there is one signer.
func WriterKey(loaded *config.Loaded) (backup.Key, error) {
	path := filepath.Join(loaded.SecretsDir(), "backup.key")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err := backup.NewKey()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = WriteSecret(path, string(key[:]))
		}
		if err != nil {
			return key, fmt.Errorf("making the key of backups: %w", err)
		}
		return key, nil
	}
	if err != nil {
		return backup.Key{}, fault.Usage(path, err, "make the file readable for your user")
	}
	if len(text) != backup.KeySize {
		return backup.Key{}, fault.Usage(path, fmt.Errorf("it has %d bytes instead of %d", len(text), backup.KeySize), "restore the file; if it is lost, remove it: the next backup makes a new key, stores everything again, and has another signer")
	}
	return backup.Key(text), nil
}

// scheduled are the settings of the management cluster's own backups, without their
// login to the cloud.
func scheduled(loaded *config.Loaded, authorities string) (*scheduledbackup.Settings, error) {
	spec := loaded.Environment.Spec.Backup
	key, err := WriterKey(loaded)
	if err != nil {
		return nil, err
	}
	if len(spec.Signers) > 0 && !slices.Contains(spec.Signers, key.Signer()) {
		return nil, fault.Usage("spec.backup.signers", fmt.Errorf("it does not name %s, which the management cluster will sign with", key.Signer()),
			"add it, or bring back the file backup.key of the signer that is named")
	}
	s := &scheduledbackup.Settings{Environment: loaded.Environment.Metadata.Name, Target: spec.Target, Recipients: spec.Recipients, Signers: spec.Signers, Groups: spec.Groups,
		Keep: backup.Keep{Last: spec.Keep.Last, Daily: spec.Keep.Daily, Weekly: spec.Keep.Weekly, Monthly: spec.Keep.Monthly},
		Key:  key[:]}
	s.Every, s.Cron = said(spec.Schedule.Rhythm())
	if spec.Drill != nil {
		s.DrillEvery, s.DrillCron = said(spec.Drill.Rhythm())
	}
	own, err := read(spec.CAFile)
	if err != nil {
		return nil, err
	}
	s.CA = pems(authorities, own)
	if spec.Schedule.S3CredentialsFile != "" {
		s.S3, err = s3Login(string(spec.Schedule.S3CredentialsFile))
	}
	return s, err
}

// said is a rhythm as settings say it.
func said(r rhythm.Rhythm) (every, cron string) {
	if cron = r.Calendar(); cron != "" {
		return "", cron
	}
	return r.String(), ""
}

// s3Login reads the file with the login of the scheduled backups.
func s3Login(path string) (*scheduledbackup.S3, error) {
	return s3LoginOf("spec.backup.schedule.s3CredentialsFile", path)
}

// s3LoginOf reads a file as AWS's tools write it, which a key of the environment file names.
func s3LoginOf(key, path string) (*scheduledbackup.S3, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fault.Usage(key, err, "check the path in the environment file")
	}
	found, err := awsconfig.LoadSharedConfigProfile(context.Background(), "default", func(o *awsconfig.LoadSharedConfigOptions) { //nolint:contextcheck // it reads a file
		o.CredentialsFiles, o.ConfigFiles = []string{path}, []string{os.DevNull}
	})
	if err != nil || !found.Credentials.HasKeys() {
		return nil, fault.Usage(key+" "+path, errors.New("it has no login in the section [default]"), "write aws_access_key_id and aws_secret_access_key below [default]")
	}
	return &scheduledbackup.S3{AccessKeyID: found.Credentials.AccessKeyID, SecretAccessKey: found.Credentials.SecretAccessKey}, nil
}

// StoreEnvironment writes the environment file, the state and its passphrase, encrypted
// to the recipients, to the management cluster, whose own backups take them from there.
// file is the environment file as it is written. Without a schedule it does nothing.
func (t *Target) StoreEnvironment(ctx context.Context, file []byte) error {
	spec := t.Environment.Spec.Backup
	if spec == nil || spec.Schedule == nil || t.Environment.Spec.ManagementCluster == nil {
		return nil
	}
	state, err := t.Engine.Export(ctx)
	if err != nil {
		return err
	}
	passphrase, err := Passphrase(t.Loaded)(ctx, false)
	if err != nil {
		return err
	}
	sealed, err := backup.Seal(backup.Sealed{At: time.Now().UTC(), File: file, State: state, Passphrase: passphrase}, spec.Recipients)
	if err != nil {
		return err
	}
	return t.OnManagement(ctx, func(on *kube.Cluster) error {
		if err := on.ApplyObjects(ctx, []*unstructured.Unstructured{sealedSecret(sealed)}); err != nil {
			return fmt.Errorf("storing the environment for its backups: %w", err)
		}
		return nil
	})
}

func sealedSecret(sealed []byte) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{backup.SealedKey: base64.StdEncoding.EncodeToString(sealed)}}}
	o.SetAPIVersion("v1")
	o.SetKind("Secret")
	o.SetNamespace(backup.SealedNamespace)
	o.SetName(backup.SealedName)
	return o
}

// EnvironmentFile is the environment file as it is written; of several, what they say
// together.
func EnvironmentFile(paths []string, layered bool, loaded *config.Loaded) ([]byte, error) {
	if len(paths) == 1 && !layered {
		text, err := os.ReadFile(paths[0])
		if err != nil {
			return nil, fault.Usage(paths[0], err, "")
		}
		return text, nil
	}
	return loaded.YAML(false)
}
