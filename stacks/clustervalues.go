package stacks

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// Cloud is how clusters log in to OpenStack.
type Cloud struct {
	AuthURL, Region, Interface, ProjectID string
	// Insecure says that clouds.yaml has `verify: false`.
	Insecure bool
	// Authority is the PEM of the cloud's own certificate authorities; empty is
	// the system's.
	Authority string
}

// Made are the things that the cluster's values name by what they became.
type Made struct {
	ImageID, KeyPair, NetworkID, SubnetID, CredentialID, CredentialSecret string
	// SeedAddress is what the load balancer of the API sees the seed as.
	SeedAddress string
	// RouterAddress is what it sees nodes as, which reach its floating IP through their router;
	// empty if Slipway did not make the router.
	RouterAddress string
	// SeedGroupID is the seed's security group; empty without a seed server.
	SeedGroupID string
	// NetworkMTU is the network's in bytes; 0 is not known.
	NetworkMTU int
}

// Values are the values of the management cluster's chart: what the environment
// file says, then what it gives as values itself.
func (e Environment) Values(made Made) map[string]any {
	m := e.Config.Spec.ManagementCluster
	values := map[string]any{
		"kubernetesVersion": strings.TrimPrefix(e.kubernetesVersion(), "v"),
		"machineImageId":    made.ImageID,
		"machineSSHKeyName": made.KeyPair,
		"clouds":            e.Equipment.Cloud.Clouds(made.CredentialID, made.CredentialSecret),
		"cloudName":         cloudName,
		"osDistro":          "debian",
		"machineMetadata":   words(e.Config.Mark(StepManagementCluster).Metadata()),
		"tags":              texts(e.Config.ResourceTags(StepManagementCluster)),
		"kubeNetwork": map[string]any{
			"pods":     map[string]any{"cidrBlocks": []any{m.PodCIDR.String()}},
			"services": map[string]any{"cidrBlocks": []any{m.ServiceCIDR.String()}},
		},
		"clusterNetworking": e.networking(made),
		"apiServer":         e.apiServer(m.APIServer, made),
		"controlPlane":      e.controlPlane(m),
		"nodeGroupDefaults": map[string]any{"rolloutStrategy": map[string]any{"rollingUpdate": map[string]any{"maxUnavailable": 0, "maxSurge": 1}}},
		"nodeGroups":        e.nodeGroups(m),
		"addons":            map[string]any{"cni": map[string]any{"type": m.CNI}},
	}
	if m.ControlPlane.EtcdVolume != nil {
		values["etcd"] = map[string]any{"blockDevice": withText(map[string]any{"size": m.ControlPlane.EtcdVolume.SizeGiB, "type": "Volume"},
			"volumeType", m.ControlPlane.EtcdVolume.Type)}
	}
	if e.Equipment.Cloud.Authority != "" {
		values["cloudCACert"] = e.Equipment.Cloud.Authority
	}
	if e.Config.Spec.ConfigDrive {
		withConfigDrives(values)
	}
	e.trust(values)
	if own, err := name.NewTag(e.Equipment.ControllersImage, name.StrictValidation); err == nil { // the one that the node image has
		values["addons"].(map[string]any)["etcdDefrag"] = map[string]any{"image": map[string]any{"repository": own.Context().Name(), "tag": own.TagStr()}}
	}
	theirs := copied(m.Values)
	keepSeedRule(theirs, made)
	return chartutil.MergeTables(theirs, values)
}

// kubernetesVersion is the version of the management cluster.
func (e Environment) kubernetesVersion() string {
	return cmp.Or(e.Config.Spec.ManagementCluster.KubernetesVersion, e.Equipment.Versions.Kubernetes)
}

// ValuesPath is where the environment file has values for the chart.
const ValuesPath = "spec.managementCluster.values"

// CheckValues holds the values against the schema of Slipway's own chart before
// anything is made: every mistake at once, with the path below
// spec.managementCluster.values.
func (e Environment) CheckValues() error {
	m := e.Config.Spec.ManagementCluster
	if m == nil || m.Chart != nil { // another chart has a schema of its own, if any
		return nil
	}
	const later = "known-later"
	made := Made{ImageID: later, KeyPair: later, NetworkID: later, SubnetID: later, CredentialID: later, CredentialSecret: later, SeedAddress: "192.0.2.1", RouterAddress: "192.0.2.2", SeedGroupID: later}
	var errs []error
	for _, err := range fault.All(openstackcluster.Check(e.Values(made))) {
		if known := (*fault.Fault)(nil); errors.As(err, &known) {
			err = fault.Usage(ValuesPath+"."+known.Object, known.Err, known.Remedy)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// cloudName is the entry of clouds.yaml that clusters read.
const cloudName = "openstack"

// Clouds are the clouds of a clouds.yaml with the one entry "openstack", which
// logs in with an application credential.
func (c Cloud) Clouds(credentialID, secret string) map[string]any {
	entry := c.options()
	entry["auth_type"] = "v3applicationcredential"
	entry["auth"] = map[string]any{"auth_url": c.AuthURL, "application_credential_id": credentialID,
		"application_credential_secret": secret, "project_id": c.ProjectID}
	return map[string]any{cloudName: entry}
}

// options are what every entry of clouds.yaml for the cloud has.
func (c Cloud) options() map[string]any {
	entry := map[string]any{"identity_api_version": 3}
	withText(withText(entry, "region_name", c.Region), "interface", c.Interface)
	if c.Insecure {
		entry["verify"] = false
	}
	return entry
}

func (e Environment) controlPlane(m *config.ManagementCluster) map[string]any {
	values := map[string]any{"machineCount": m.ControlPlane.Count, "machineFlavor": e.Choices.Management.ControlPlaneFlavor}
	if zones := m.ControlPlane.AvailabilityZones; len(zones) > 0 {
		values["omitFailureDomain"], values["failureDomains"] = false, texts(zones)
	}
	if root := rootVolume(m.ControlPlane.RootVolume); root != nil {
		values["machineRootVolume"] = root
	}
	if m.Workers() == 0 { // somebody must run the workloads
		values["nodeTaints"] = []any{}
	}
	return values
}

func (e Environment) nodeGroups(m *config.ManagementCluster) []any {
	groups := []any{}
	for _, g := range m.NodeGroups {
		group := map[string]any{"name": g.Name, "machineCount": g.Count, "machineFlavor": e.Choices.Management.NodeGroupFlavors[g.Name]}
		withText(group, "failureDomain", g.AvailabilityZone)
		if root := rootVolume(g.RootVolume); root != nil {
			group["machineRootVolume"] = root
		}
		if len(g.Labels) > 0 {
			group["nodeLabels"] = words(g.Labels)
		}
		groups = append(groups, group)
	}
	return groups
}

func rootVolume(v *config.RootVolume) map[string]any {
	if v == nil {
		return nil
	}
	return withText(withText(map[string]any{"diskSize": v.SizeGiB}, "volumeType", v.Type), "availabilityZone", v.AvailabilityZone)
}

// trust is what nodes trust and go through: authorities, proxy, registries.
func (e Environment) trust(values map[string]any) {
	authorities := map[string]any{}
	for i, pem := range e.Equipment.Authorities {
		authorities[fmt.Sprintf("slipway-%d", i)] = pem
	}
	if len(authorities) > 0 {
		values["trustedCAs"] = authorities
	}
	if p := e.Config.Spec.Proxy; p != nil {
		proxy := map[string]any{"noProxy": texts(e.direct())}
		values["proxy"] = withText(withText(proxy, "httpProxy", p.HTTPProxy), "httpsProxy", p.HTTPSProxy)
	}
	if mirrors := e.registryMirrors(); len(mirrors) > 0 {
		values["registryMirrors"] = mirrors
	}
	logins := map[string]any{}
	for host, r := range e.Equipment.Registries {
		if r.Username != "" {
			logins[host] = map[string]any{"username": r.Username, "password": r.Password}
		}
	}
	if len(logins) > 0 {
		values["registryAuth"] = logins
	}
}

// registryMirrors are the registries that have settings besides a login, by host.
func (e Environment) registryMirrors() map[string]any {
	all := map[string]any{}
	for host, r := range e.Equipment.Registries {
		if settings := e.mirrors(r); settings != nil {
			all[host] = settings
		}
	}
	return all
}

// mirrors are a registry's, with the authorities that it and they are trusted
// by; a mirror is a registry itself. The API is under /v2 of a mirror without a
// path, as on the seed.
func (e Environment) mirrors(r seed.Registry) any {
	if len(r.Mirrors) == 0 && r.Authority == "" {
		return nil
	}
	list := make([]any, 0, len(r.Mirrors))
	for _, address := range r.Mirrors {
		mirror := map[string]any{"url": address}
		if u, err := url.Parse(address); err == nil {
			withText(mirror, "ca", e.Equipment.Registries[u.Host].Authority)
			mirror["overridePath"] = strings.Trim(u.Path, "/") != ""
		}
		list = append(list, mirror)
	}
	return withText(map[string]any{"mirrors": list}, "ca", r.Authority)
}

// withText sets a key unless the text is empty.
func withText(values map[string]any, key, text string) map[string]any {
	if text != "" {
		values[key] = text
	}
	return values
}

func texts(list []string) []any {
	all := make([]any, 0, len(list))
	for _, text := range list {
		all = append(all, text)
	}
	return all
}

func words(table map[string]string) map[string]any {
	all := map[string]any{}
	for key, word := range table {
		all[key] = word
	}
	return all
}

func prefixTexts(list []netip.Prefix) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.String())
	}
	return all
}

func prefixes(list []netip.Prefix) []any { return texts(prefixTexts(list)) }

// copied is a deep copy: Helm's merging writes into what it is given.
func copied(values map[string]any) map[string]any {
	all := map[string]any{}
	for key, value := range values {
		if table, ok := value.(map[string]any); ok {
			value = copied(table)
		}
		all[key] = value
	}
	return all
}
