package stacks

import (
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/stacks/openstack"
)

// credential makes the credential that machines of the environment use: the
// operator's own never leaves this computer.
func (e Environment) credential(ctx *pulumi.Context) (*openstack.ApplicationCredential, error) {
	conf := e.Config.Spec.Credential
	in := openstack.ApplicationCredentialInputs{Ownership: e.ownership(StepCredential), Roles: e.Choices.Roles,
		Unrestricted: conf.Unrestricted, Lifetime: int(time.Duration(conf.ExpiresAfter).Seconds())}
	for _, rule := range conf.AccessRules {
		in.AccessRules = append(in.AccessRules, openstack.AccessRule{Service: rule.Service, Method: rule.Method, Path: rule.Path})
	}
	return openstack.NewApplicationCredential(ctx, in)
}
