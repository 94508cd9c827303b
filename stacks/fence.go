package stacks

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/controllers"
)

// fence is what Slipway's controllers on the management cluster look at the fence with,
// as JSON: the environment's own credential, which a rebuild revokes. Of the seed's only
// the backups look: the others look after the management cluster alone, with that
// credential. only is controllers.Fence's.
func (e Environment) fence(s Seed, only string) pulumi.StringInput {
	text := pulumi.All(s.Credential.ID(), s.Credential.Secret).ApplyT(func(known []any) (string, error) {
		login, err := yaml.Marshal(map[string]any{"clouds": e.Equipment.Cloud.Clouds(word(known[0]), word(known[1]))})
		if err != nil {
			return "", errors.New("writing the clouds.yaml of the fence")
		}
		text, err := json.Marshal(controllers.Fence{Environment: e.Config.Metadata.Name, Clouds: string(login), Only: only})
		if err != nil {
			return "", fmt.Errorf("encoding the fence: %w", err)
		}
		return string(text), nil
	}).(pulumi.StringOutput)
	return pulumi.ToSecret(text).(pulumi.StringOutput)
}
