package stacks

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/stacks/openstack"
)

// backup is what the management cluster makes its own backups with, as JSON, and nil if
// it makes none. The credential is of their own: it can be revoked without the clusters'.
func (e Environment) backup(ctx *pulumi.Context) (pulumi.StringInput, error) {
	if b := e.Config.Spec.Backup; b == nil || b.Schedule == nil || e.Equipment.Backup == nil {
		return nil, nil
	}
	credential, err := openstack.NewApplicationCredential(ctx, openstack.ApplicationCredentialInputs{Ownership: e.ownership(StepBackupCredential), Roles: e.Choices.Roles,
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
		settings.Clouds = string(login)
		text, err := json.Marshal(settings)
		if err != nil {
			return "", fmt.Errorf("encoding the settings of backups: %w", err)
		}
		return string(text), nil
	}).(pulumi.StringOutput)
	return pulumi.ToSecret(text).(pulumi.StringOutput), nil
}
