package stacks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/images/template"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/stacks/catalog"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// The catalog's words for Magnum, and its port.
const (
	magnumType = "container-infra"
	magnumName = "magnum"
	magnumPort = 9511
)

// The roles of the service users: who has `service` may validate tokens; to
// revoke the credentials of others takes an administrator.
const (
	roleService       = "service"
	roleAdministrator = "admin"
)

// MagnumFiles are the content of the files that spec.magnum names.
type MagnumFiles struct {
	Policy, Certificate, Key string
	// Authorities are the CA certificates of other management clusters' APIs.
	Authorities string
	// Templates are nil where no file is named.
	Templates *template.File
}

// magnumAPI is the Magnum-compatible API as the rest of the program sees it.
type magnumAPI struct {
	url, authority pulumi.StringOutput
	ready          pulumi.Resource
}

// magnum is the Magnum-compatible API on the management cluster, behind a load
// balancer with an address that stays, and in Keystone's catalog; nil if the
// environment has none.
func (e Environment) magnum(ctx *pulumi.Context, on management) (*magnumAPI, error) {
	conf := e.Config.Spec.Magnum
	if conf == nil {
		return nil, nil
	}
	address, err := e.reserve(ctx, StepMagnumAddress, conf.FloatingIP)
	if err != nil {
		return nil, err
	}
	settings, err := e.magnumSettings(ctx, address)
	if err != nil {
		return nil, err
	}
	api, err := kubernetes.NewMagnum(ctx, StepMagnum, kubernetes.MagnumRefs{LoginRefs: on.login, Kubeconfig: on.cluster.AdminKubeconfig, ServerID: on.cluster.ID(),
		Settings: settings, Image: e.Equipment.ControllersImage, TrustBundle: e.trustBundle(), Version: component.SlipwayVersion(), Environment: e.onManagement(), Fence: on.fence},
		pulumi.DependsOn(on.ready))
	if err != nil {
		return nil, err
	}
	url := address.PublicAddress.ApplyT(func(address string) string {
		return magnumURL(conf, address)
	}).(pulumi.StringOutput)
	if conf.Catalog {
		if _, err := openstack.NewCatalogEntry(ctx, e.registered().Catalog, url, pulumi.DependsOn([]pulumi.Resource{api})); err != nil {
			return nil, err
		}
	}
	if _, err := catalog.NewClusterTemplates(ctx, StepMagnumTemplates, catalog.ClusterTemplatesRefs{Endpoint: url, Authority: api.Authority,
		File: e.templates(), Images: e.templateImages(on.image)}, pulumi.DependsOn([]pulumi.Resource{api})); err != nil {
		return nil, err
	}
	ctx.Export(OutputMagnumURL, url)
	ctx.Export(OutputMagnumAuthority, api.Authority)
	return &magnumAPI{url, api.Authority, api}, nil
}

// registered is what the API has in Keystone, but for what only resources know.
func (e Environment) registered() openstack.Registered {
	return openstack.Registered{
		Catalog: openstack.CatalogEntryInputs{Ownership: e.ownership(StepMagnumCatalog), Type: magnumType, Name: magnumName,
			Region: e.Equipment.Cloud.Region, Project: e.Equipment.Cloud.ProjectID},
		Users: []openstack.ServiceUserInputs{{Ownership: e.ownership(StepMagnumUser), Role: roleService},
			{Ownership: e.ownership(StepMagnumAdministrator), Role: roleAdministrator}},
		Project: openstack.ServiceProjectInputs{Ownership: e.ownership(StepMagnumProject), Name: e.Config.Spec.Magnum.ServiceProject},
	}
}

func magnumURL(conf *config.Magnum, address string) string {
	return fmt.Sprintf("https://%s:%d/v1", cmp.Or(conf.Hostname, address), magnumPort)
}

// CatalogEntry is what an environment with a Magnum API has in the catalog, but for its URL.
func CatalogEntry(conf *config.Environment, at Cloud) openstack.CatalogEntryInputs {
	return Environment{Config: conf, Equipment: Equipment{Cloud: at}}.registered().Catalog
}

// Registered is what an environment has in Keystone, for who has no state; wanted says whether it
// has a Magnum API. The URL is known only with its address, which is in the project: by that, what
// a former release made is told from what an environment of the name in another project has.
func Registered(conf *config.Environment, region string, things []openstack.Resource) (r openstack.Registered, wanted bool) {
	if conf.Spec.Magnum == nil {
		return r, false
	}
	address := conf.Spec.Magnum.FloatingIP
	for _, thing := range things {
		if thing.Type == openstack.TypeFloatingIP && thing.Step == StepMagnumAddress {
			address, _ = netip.ParseAddr(thing.Name)
		}
	}
	r = Environment{Config: conf, Equipment: Equipment{Cloud: Cloud{Region: region}}}.registered()
	if address.IsValid() {
		r.Address, r.Catalog.URL = address, magnumURL(conf.Spec.Magnum, address.String())
	}
	return r, true
}

// reserve is a floating IP for a load balancer. It is no part of that, so that a new one,
// or a new cluster, has the same.
func (e Environment) reserve(ctx *pulumi.Context, step string, wanted netip.Addr) (*openstack.FloatingIP, error) {
	in := openstack.FloatingIPInputs{Ownership: e.ownership(step), NetworkID: e.Choices.ExternalNetworkID}
	if wanted.IsValid() {
		in.Address = wanted.String()
	}
	return openstack.ReserveFloatingIP(ctx, in)
}

// magnumSettings makes the service users and puts together what the API is
// given, as JSON.
func (e Environment) magnumSettings(ctx *pulumi.Context, address *openstack.FloatingIP) (pulumi.StringOutput, error) {
	in := e.registered()
	project, err := openstack.NewServiceProject(ctx, in.Project)
	if err != nil {
		return pulumi.StringOutput{}, err
	}
	user, err := openstack.NewServiceUser(ctx, in.Users[0], project.ID())
	if err != nil {
		return pulumi.StringOutput{}, err
	}
	administrator, err := openstack.NewServiceUser(ctx, in.Users[1], project.ID())
	if err != nil {
		return pulumi.StringOutput{}, err
	}
	text := pulumi.All(address.PublicAddress, project.ID(), user.ID(), user.Password, administrator.ID(), administrator.Password).ApplyT(
		func(known []any) (string, error) {
			settings, err := e.magnumValues(word(known[0]), e.Equipment.Cloud.passwordLogin(word(known[1]), word(known[2]), word(known[3])),
				e.Equipment.Cloud.passwordLogin(word(known[1]), word(known[4]), word(known[5])))
			if err != nil {
				return "", err
			}
			text, err := json.Marshal(settings)
			return string(text), err
		}).(pulumi.StringOutput)
	return pulumi.ToSecret(text).(pulumi.StringOutput), nil
}

// withConfigDrives adds config drives of machines to values of the chart.
func withConfigDrives(values map[string]any) map[string]any {
	if values == nil {
		values = map[string]any{}
	}
	for _, role := range []string{"controlPlane", "nodeGroupDefaults"} {
		set(values, true, role, "machineConfigDrive")
	}
	return values
}

// magnumValues are the settings of the API, given its address and its logins.
func (e Environment) magnumValues(address string, user, administrator map[string]any) (controllers.Magnum, error) {
	conf := e.Config.Spec.Magnum
	m := controllers.Magnum{Address: address, Certificate: e.Equipment.Magnum.Certificate, Key: e.Equipment.Magnum.Key, CloudCA: e.Equipment.Cloud.Authority,
		Policy: e.Equipment.Magnum.Policy, DefaultQuota: conf.DefaultQuota, Labels: conf.Labels, Replicas: conf.Replicas, ControllerReplicas: replicasOn(e.Config.Spec.ManagementCluster)}
	m.CredentialOverlap = time.Duration(conf.CredentialOverlap).String()
	m.NetworkDriver = conf.NetworkDriver
	m.NetworkDrivers = slices.Compact(slices.Sorted(slices.Values([]string{"calico", "cilium", m.NetworkDriver})))
	// Logins are the operator's own: tenants read what is on their machines.
	if mirrors := e.registryMirrors(); len(mirrors) > 0 {
		m.ClusterValues = map[string]any{"registryMirrors": mirrors}
	}
	if e.Config.Spec.ConfigDrive {
		m.ClusterValues = withConfigDrives(m.ClusterValues)
	}
	if conf.Hostname != "" {
		m.Hostnames = []string{conf.Hostname}
	}
	if len(conf.ManagementClusters) > 0 {
		m.Name, m.Closed, m.MembersCA = e.Config.Metadata.Name, conf.Closed, e.Equipment.Magnum.Authorities
	}
	for _, other := range conf.ManagementClusters {
		m.Members = append(m.Members, controllers.Member{Name: other.Name, URL: other.URL})
	}
	for entry, text := range map[*string]map[string]any{&m.Clouds: user, &m.Administrator: administrator} {
		clouds, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"magnum": text}})
		if err != nil {
			return m, fmt.Errorf("writing clouds.yaml: %w", err)
		}
		*entry = string(clouds)
	}
	return m, nil
}

// templates are the cluster templates of the file, or one of what the management
// cluster is made of, so that there is something to begin with.
func (e Environment) templates() *template.File {
	if file := e.Equipment.Magnum.Templates; file != nil {
		return file
	}
	yes, workers := true, e.Choices.Management.ControlPlaneFlavor
	for _, group := range e.Config.Spec.ManagementCluster.NodeGroups {
		workers = e.Choices.Management.NodeGroupFlavors[group.Name]
	}
	return &template.File{APIVersion: template.APIVersion, Kind: template.Kind, Metadata: template.Metadata{Name: e.Config.Metadata.Name}, Spec: template.Spec{
		NamePattern: "kubernetes-{version}",
		Defaults: template.Settings{MasterFlavor: e.Choices.Management.ControlPlaneFlavor, Flavor: workers, ExternalNetwork: e.Choices.ExternalNetworkID,
			NetworkDriver: e.Config.Spec.Magnum.NetworkDriver, MasterLB: &yes, FloatingIP: &yes},
		Templates: []template.Template{{KubernetesVersion: e.kubernetesVersion(), Image: e.nodeImageName()}},
	}}
}

// templateImages are the images that this run brings, by name: templates wait for
// those that they name, and follow them.
func (e Environment) templateImages(node pulumi.StringInput) pulumi.StringMap {
	ids := pulumi.StringMap{e.nodeImageName(): node}
	for _, listed := range e.Images {
		name := listed.Manifest.Spec.Images[0].Name
		ids[name] = e.uploaded[name].ImageID
	}
	return ids
}

// nodeImageName is the image of the management cluster's nodes, by the name or
// the ID that Glance has.
func (e Environment) nodeImageName() string {
	return cmp.Or(e.Config.Spec.ManagementCluster.Image, e.Config.ResourceName(StepNodeImage))
}

// passwordLogin is an entry of clouds.yaml.
func (c Cloud) passwordLogin(projectID, userID, password string) map[string]any {
	entry := c.options()
	entry["auth"] = map[string]any{"auth_url": c.AuthURL, "user_id": userID, "password": password, "project_id": projectID}
	return entry
}
