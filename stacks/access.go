package stacks

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// securityGroup lets in what may reach the seed, and nothing else.
func (e Environment) securityGroup(ctx *pulumi.Context) (*openstack.SecurityGroup, error) {
	return openstack.NewSecurityGroup(ctx, openstack.SecurityGroupInputs{Ownership: e.ownership(StepAccess), Rules: e.rules()})
}

// rules are all that may reach the seed (F14). A local seed is not in the cloud, and its
// group only has the generation of the fence.
func (e Environment) rules() []openstack.Rule {
	if e.Config.Spec.Seed.IsLocal() {
		return nil
	}
	access := e.Config.Spec.Seed.Access
	var rules []openstack.Rule
	for _, from := range access.SSHCIDRs {
		rules = append(rules, openstack.Rule{Protocol: "tcp", PortMin: 22, PortMax: 22, CIDR: from.String()})
	}
	for _, from := range access.APICIDRs {
		rules = append(rules, openstack.Rule{Protocol: "tcp", PortMin: 6443, PortMax: 6443, CIDR: from.String()})
	}
	for _, open := range access.Rules {
		for _, from := range open.CIDRs {
			rules = append(rules, openstack.Rule{Protocol: open.Protocol, PortMin: open.Port, PortMax: max(open.Port, open.EndPort), CIDR: from.String()})
		}
	}
	return rules
}

// login is how one logs in to the seed; the fingerprint is of our key pair only.
type login struct{ keyPair, fingerprint, privateKey pulumi.StringInput }

// keyPair makes a key and a key pair, unless the operator has one.
func (e Environment) keyPair(ctx *pulumi.Context) (login, error) {
	if name := e.Config.Spec.Seed.SSH.KeyPair; name != "" {
		private, err := e.ownKey()
		return login{keyPair: pulumi.String(name), privateKey: private}, err
	}
	key, err := openstack.NewSSHKey(ctx, openstack.SSHKeyInputs{Ownership: e.ownership(StepSSHKey)})
	if err != nil {
		return login{}, err
	}
	pair, err := openstack.NewKeyPair(ctx, openstack.KeyPairInputs{Ownership: e.ownership(StepKeyPair)}, key.PublicKey)
	if err != nil {
		return login{}, err
	}
	return login{pair.ID(), pair.Fingerprint, key.PrivateKey}, nil
}

// ownKey returns the operator's private key, which must go with the key pair.
func (e Environment) ownKey() (pulumi.StringInput, error) {
	_, err := remote.PublicKey(e.Equipment.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("spec.seed.ssh.identityFile: %w", err)
	}
	return pulumi.ToSecret(pulumi.String(e.Equipment.PrivateKey)).(pulumi.StringOutput), nil
}
