package stacks

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// machineFolder is where a container on the seed has the root of its machine.
const machineFolder = "/host"

// backup is what the management cluster makes its own backups with.
func (e Environment) backup(ctx *pulumi.Context) (pulumi.StringInput, error) {
	return e.backupSettings(ctx, StepBackupCredential, "")
}

// seedBackup is what the seed makes backups of its datastore with. There are none of a seed
// that hands everything over: the management cluster then has its own objects, and any new
// seed will do.
func (e Environment) seedBackup(ctx *pulumi.Context) (pulumi.StringInput, error) {
	if e.Config.Spec.Seed.Role == config.RolePivot || e.Config.Spec.ManagementCluster == nil {
		return nil, nil
	}
	return e.backupSettings(ctx, StepSeedBackupCredential, machineFolder)
}

// backupSettings are scheduledbackup.Settings as JSON, and nil if nothing is scheduled. The
// credential is of these backups alone: it can be revoked without the clusters'. machine is
// Settings.Machine.
func (e Environment) backupSettings(ctx *pulumi.Context, step, machine string) (pulumi.StringInput, error) {
	if b := e.Config.Spec.Backup; b == nil || b.Schedule == nil || e.Equipment.Backup == nil {
		return nil, nil
	}
	credential, err := openstack.NewApplicationCredential(ctx, openstack.ApplicationCredentialInputs{Ownership: e.ownership(step), Roles: e.Choices.Roles,
		Lifetime: int(time.Duration(e.Config.Spec.Credential.ExpiresAfter).Seconds())})
	if err != nil {
		return nil, err
	}
	text := pulumi.All(credential.ID(), credential.Secret).ApplyT(func(known []any) (string, error) {
		login, err := yaml.Marshal(map[string]any{"clouds": e.Equipment.Cloud.Clouds(word(known[0]), word(known[1]))})
		if err != nil {
			return "", errors.New("writing the clouds.yaml of backups")
		}
		settings := *e.Equipment.Backup
		settings.Clouds, settings.Machine = string(login), machine
		text, err := json.Marshal(settings)
		if err != nil {
			return "", fmt.Errorf("encoding the settings of backups: %w", err)
		}
		return string(text), nil
	}).(pulumi.StringOutput)
	return pulumi.ToSecret(text).(pulumi.StringOutput), nil
}
