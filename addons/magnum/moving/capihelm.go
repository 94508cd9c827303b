package moving

import (
	"fmt"
	"maps"
	"slices"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cloudconfig"
	"github.com/slipway-sh/slipway/internal/fault"
)

// set right with Magnum, not here: Magnum still manages the cluster.
const (
	byHand     = "set the release and the database right with Magnum (openstack coe cluster resize), then read the database again"
	otherPlace = "use the kubeconfig of the management cluster that Magnum's driver writes to"
)

// capiHelm judges a cluster of magnum-capi-helm: a Helm release that Slipway's
// controllers go on with.
func (j *judge) capiHelm(c *Cluster, t database.Template) error {
	namespace := v1alpha1.Namespace(c.ProjectID)
	var err error
	if c.look, err = j.site.see(j.ctx, namespace, c.StackID); err != nil {
		return err
	}
	if c.look.release, err = j.site.Releases.Last(j.ctx, namespace, c.StackID); err != nil {
		return err
	}
	if c.look.release == nil {
		c.problem("there is no Helm release "+c.StackID+" in namespace "+namespace, otherPlace)
		return nil
	}
	if status := c.look.release.Info.Status; status != helmrelease.StatusDeployed {
		c.problem(fmt.Sprintf("its release is %s, not deployed", status), "repair the release with Magnum: openstack coe cluster resize, to the size that it has")
	}
	c.released()
	c.running(t, j.site.Defaults)
	c.secrets(j.db)
	c.copies = c.copy(t)
	c.values(j.site.Defaults)
	if n := len(c.look.volumeTypes()); n > v1alpha1.MaxVolumeTypes {
		c.Notes = append(c.Notes, fmt.Sprintf("it has storage classes for %d volume types; after its next upgrade to another template it has them for %d, the default one first", n, v1alpha1.MaxVolumeTypes))
	}
	return nil
}

// released compares the release with the database: a difference is a change by
// hand, or a database of another day.
func (c *Cluster) released() {
	differ := func(what string, release, database any) {
		c.problem(fmt.Sprintf("its release says %s %v, the database %v", what, release, database), byHand)
	}
	l, groups := c.look, map[string]database.NodeGroup{}
	for _, g := range c.groups {
		if g.Role != v1alpha1.RoleMaster {
			groups[v1alpha1.Sanitise(g.Name)] = g
		}
	}
	if n, _ := integer(l.value("controlPlane", "machineCount")); n != c.masters() {
		differ("controlPlane.machineCount", n, c.masters())
	}
	if flavor := l.text("controlPlane", "machineFlavor"); flavor != c.row.MasterFlavorID {
		differ("controlPlane.machineFlavor", flavor, c.row.MasterFlavorID)
	}
	if key := l.text("machineSSHKeyName"); key != c.row.Keypair {
		differ("machineSSHKeyName", key, c.row.Keypair)
	}
	listed, _ := l.value("nodeGroups").([]any)
	for _, entry := range listed {
		values, _ := entry.(map[string]any)
		name, _ := values["name"].(string)
		g, known := groups[name]
		if !known {
			c.problem("its release has a node group "+name+" that the database has not", byHand)
			continue
		}
		delete(groups, name)
		if flavor, _ := values["machineFlavor"].(string); flavor != g.FlavorID {
			differ("a flavor of "+name, flavor, g.FlavorID)
		}
		if n, sized := integer(values["machineCount"]); sized && n != int64(g.NodeCount) {
			differ("a machineCount of "+name, n, g.NodeCount)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		c.problem("its release has no node group "+name, byHand)
	}
}

func (c *Cluster) masters() (n int64) {
	for _, g := range c.groups {
		if g.Role == v1alpha1.RoleMaster {
			n += int64(g.NodeCount)
		}
	}
	return n
}

// running compares Cluster API's objects with the database. Taking over changes
// nothing but sizes that differ: those are machines that would come or go.
func (c *Cluster) running(t database.Template, defaults driver.Defaults) {
	l := c.look
	if l.cluster == nil || l.plane == nil {
		c.problem("Cluster API has no Cluster "+c.StackID+", or no control plane of it", otherPlace)
		return
	}
	size := func(what string, has, wants int64) {
		if has != wants {
			c.Rolls += int(max(has-wants, wants-has))
			c.problem(fmt.Sprintf("%s has %d machines and the database says %d", what, has, wants), byHand)
		}
	}
	size("the control plane", replicas(l.plane), c.masters())
	whole := c.copy(t).cluster
	for _, g := range c.groups {
		if g.Role == v1alpha1.RoleMaster {
			continue
		}
		o := l.deployments[v1alpha1.Sanitise(g.Name)]
		if o == nil {
			c.problem("Cluster API has no MachineDeployment of node group "+g.Name, byHand)
			continue
		}
		if !driver.Autoscaled(whole, c.group(g, whole), defaults) {
			size("node group "+g.Name, replicas(o), int64(g.NodeCount))
		}
	}
	for _, o := range []*unstructured.Unstructured{l.cluster, l.plane} {
		if o.GetDeletionTimestamp() != nil {
			c.problem(o.GetKind()+" "+o.GetName()+" is being deleted", "wait, and read the database again")
		}
	}
}

// secrets checks that what the API and the machines need is there.
func (c *Cluster) secrets(db *database.Database) {
	for _, suffix := range []string{"ca", "etcd", "proxy", "cloud-credentials"} {
		if c.look.secrets[suffix] == nil {
			c.problem("its Secret "+c.StackID+"-"+suffix+" is missing", "restore it; without it certificates, or the cluster's access to OpenStack, are lost")
		}
	}
	if secret := c.look.secrets["cloud-credentials"]; secret != nil && c.credential() == "" {
		c.problem("its Secret "+secret.Name+" names no application credential", "rotate the credential with Magnum (openstack coe credential rotate)")
	}
	secret, pair := c.look.secrets["ca"], db.KeyPairs[c.row.CARef]
	if secret != nil && pair.Certificate != "" && !sameCertificate(secret.Data["tls.crt"], []byte(pair.Certificate)) {
		c.problem("Magnum signs with another authority than the cluster trusts", "it was rotated in Magnum, which its driver does not support: set ca_cert_ref of the cluster to the certificate that Secret "+secret.Name+" has")
	}
}

// credential is the id of the cluster's application credential.
func (c *Cluster) credential() string {
	secret := c.look.secrets["cloud-credentials"]
	if secret == nil {
		return ""
	}
	return cloudconfig.ID(secret.Data[cloudconfig.Clouds])
}

// values notes what the next upgrade would set otherwise, and what the driver
// refuses.
func (c *Cluster) values(defaults driver.Defaults) {
	out, err := driver.Values(driver.Input{Cluster: c.copies.cluster, Groups: c.copies.groups, AuthURL: c.authURL(), Defaults: defaults})
	for _, one := range fault.All(err) {
		remedy := fault.Remedy(one)
		if remedy == "" {
			remedy = "correct it with Magnum"
		}
		c.problem("Slipway cannot make its values: "+one.Error(), remedy)
	}
	if err != nil {
		return
	}
	c.AtUpgrade = differences("", c.look.release.Config, out.Values)
}

// authURL is where the release's webhook asks.
func (c *Cluster) authURL() string {
	return c.look.text("addons", "openstack", "k8sKeystoneAuth", "values", "openstackAuthUrl")
}
