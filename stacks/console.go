package stacks

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// ConsoleFiles are the content of the files that spec.console names.
type ConsoleFiles struct{ Certificate, Key string }

// console is the console for tenants on the management cluster, if the environment file asks
// for it. It has a load balancer and an address of its own: people type its name without a
// port, and it goes without a trace. api is nil if the Magnum API is another's.
func (e Environment) console(ctx *pulumi.Context, on management, api *magnumAPI) error {
	conf := e.Config.Spec.Console
	if conf == nil {
		return nil
	}
	address, err := e.reserve(ctx, StepConsoleAddress, conf.FloatingIP)
	if err != nil {
		return err
	}
	magnumURL, authority, after := pulumi.String("").ToStringOutput(), pulumi.String("").ToStringOutput(), on.ready
	if api != nil {
		magnumURL, authority, after = api.url, api.authority, append([]pulumi.Resource{api.ready}, on.ready...)
	}
	url := address.PublicAddress.ApplyT(func(address string) string { return "https://" + cmp.Or(conf.Hostname, address) }).(pulumi.StringOutput)
	settings := pulumi.All(address.PublicAddress, magnumURL, authority).ApplyT(func(known []any) (string, error) {
		text, err := json.Marshal(e.consoleValues(word(known[0]), word(known[1]), word(known[2])))
		if err != nil {
			return "", fmt.Errorf("encoding the settings of the console: %w", err)
		}
		return string(text), nil
	}).(pulumi.StringOutput)
	made, err := kubernetes.NewTenantConsole(ctx, StepConsole, kubernetes.TenantConsoleRefs{LoginRefs: on.login, Kubeconfig: on.cluster.AdminKubeconfig, ServerID: on.cluster.ID(),
		URL: url, Settings: settings, Image: e.Equipment.ControllersImage, TrustBundle: e.trustBundle(), Version: component.SlipwayVersion(), Environment: e.onManagement()},
		pulumi.DependsOn(after))
	if err != nil {
		return err
	}
	ctx.Export(OutputConsoleURL, url)
	ctx.Export(OutputConsoleAuthority, made.Authority)
	return nil
}

// consoleValues are the settings of the console, given its address, and the URL and the CA
// of the Magnum API, which may be empty.
func (e Environment) consoleValues(address, magnumURL, magnumAuthority string) controllers.Console {
	conf, cloud := e.Config.Spec.Console, e.Equipment.Cloud
	c := controllers.Console{Keystone: cloud.AuthURL, PublicEndpoint: "https://" + cmp.Or(conf.Hostname, address), Magnum: magnumURL, Region: cloud.Region, Interface: cloud.Interface,
		Domain: conf.Domain, Address: address, Certificate: e.Equipment.Console.Certificate, Key: e.Equipment.Console.Key, CloudCA: cloud.Authority, Replicas: conf.Replicas}
	if magnumAuthority != "" {
		c.CloudCA += "\n" + magnumAuthority
	}
	if conf.Hostname != "" {
		c.Hostnames = []string{conf.Hostname}
	}
	for _, way := range conf.WebSSO {
		at := way.Protocol
		if way.IdentityProvider != "" {
			at = way.IdentityProvider + "/" + way.Protocol
		}
		c.WebSSO = append(c.WebSSO, way.Name+"="+at)
	}
	return c
}
