package moving

import (
	"fmt"
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// allClusters judges Slipway's clusters, those that were deleted, and lists those
// that are Magnum's.
func (j *returning) allClusters() error {
	list, groups := &v1alpha1.ClusterList{}, &v1alpha1.NodeGroupList{}
	if err := j.list(list, "Cluster"); err != nil {
		return err
	}
	if err := j.list(groups, "NodeGroup"); err != nil {
		return err
	}
	of := map[client.ObjectKey][]*v1alpha1.NodeGroup{}
	for n := range groups.Items {
		g := &groups.Items[n]
		key := client.ObjectKey{Namespace: g.Namespace, Name: g.Spec.ClusterName}
		of[key] = append(of[key], g)
	}
	seen := map[string]bool{}
	for n := range list.Items {
		o := &list.Items[n]
		seen[o.UUID()] = true
		if j.chosen(o.UUID(), o.Title()) {
			if err := j.cluster(o, of[client.ObjectKeyFromObject(o)]); err != nil {
				return err
			}
		}
	}
	for n := range j.image.Clusters {
		row := &j.image.Clusters[n]
		if !seen[row.UUID] && j.chosen(row.UUID, row.Name) {
			if err := j.deletedCluster(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *returning) chosen(uuid, name string) bool {
	return j.choices.Only == "" || j.choices.Only == name || strings.EqualFold(j.choices.Only, uuid)
}

// rowOf is Magnum's row of a cluster, nil if there is none.
func (j *returning) rowOf(uuid string) *database.Cluster {
	at := slices.IndexFunc(j.image.Clusters, func(c database.Cluster) bool { return c.UUID == uuid })
	if at < 0 {
		return nil
	}
	return &j.image.Clusters[at]
}

func (j *returning) cluster(o *v1alpha1.Cluster, groups []*v1alpha1.NodeGroup) error {
	row := j.rowOf(o.UUID())
	u := &unit{Returned: &Returned{Kind: KindCluster, Item: Item{UUID: o.UUID(), Name: o.Title(), ProjectID: o.Spec.ProjectID, Verdict: Magnums}}, object: o, groups: groups}
	j.units = append(j.units, u)
	if o.Spec.Template != nil {
		u.template = o.Spec.Template.UUID
	}
	if held := v1alpha1.Held(o); held != "" && held != v1alpha1.HeldByHandBack {
		return nil
	}
	u.Verdict, u.record = Unchanged, j.recordOf(o.Spec.ProjectID, recordCluster+strings.ToLower(o.UUID()))
	j.entitled(&u.Item, there{o, row != nil, u.record != nil})
	j.settled(u, o)
	l, err := j.site.see(j.ctx, o.Namespace, o.Stack())
	if err != nil {
		return err
	}
	if l.release, err = j.site.Releases.Last(j.ctx, o.Namespace, o.Stack()); err != nil {
		return err
	}
	j.drivable(u, o, l)
	var then *record
	if u.record != nil {
		then = &u.record.record
	}
	was, wasGroups := earlier(then, j.image.Templates)
	v := database.Versions[database.Cluster]{Now: row, Was: was, Is: rowOfCluster(o, groups)}
	if then != nil {
		v.Then = then.Cluster
	}
	if row != nil {
		outcome(j, u, u.Returned, "cluster", row.ID, database.ClusterColumns(), v)
		if row.TrustID != "" {
			u.Notes = append(u.Notes, "its row keeps trust "+row.TrustID+" of user "+row.TrusteeID+": Slipway neither used nor changed it")
		}
	} else {
		inserted(j, u, u.Returned, "cluster", database.ClusterColumns(), v.Is, o)
		if j.image.Has("cluster", "trust_id") {
			u.Notes = append(u.Notes, "its row has no trust, which cannot be made here: Magnum's driver for Cluster API works with the application credential alone")
		}
	}
	j.groupsOf(u, o, then, wasGroups, l)
	j.certificates(u, o, row, l)
	j.credential(u, o, l)
	return nil
}

// settled asks for a cluster that nobody is working on.
func (j *returning) settled(u *unit, o *v1alpha1.Cluster) {
	if phase := o.EffectivePhase(u.groups); phase.InProgress() || phase == v1alpha1.DeleteFailed || o.Spec.Template == nil {
		u.problem("Slipway is still working on it ("+string(phase)+")", "wait until it is done, and run the command again")
	}
	if o.Spec.CARotation != nil && o.Spec.CARotation.ID != o.Status.CARotationID {
		u.problem("its certificate authorities are being rotated", "wait until it is done, and run the command again")
	}
	for _, old := range o.Spec.Credential.Superseded {
		if !slices.Contains(o.Status.RevokedCredentials, old.ID) {
			u.problem("its earlier application credential "+old.ID+" is not revoked yet", "wait until it is, or delete it in Keystone")
		}
	}
	if u.template != "" && !j.templates[u.template] {
		u.problem("its template "+u.template+" is not in Magnum's database, and is not handed back", "correct what is said of the template, or upgrade the cluster to another one")
	}
}

// drivable asks for what Magnum's driver looks for by name.
func (j *returning) drivable(u *unit, o *v1alpha1.Cluster, l *look) {
	if driverOf(o.Stack()) != CAPIHelm || !releaseName.MatchString(o.Stack()) {
		u.problem("its release "+o.Stack()+" has no name that magnum-capi-helm would give", "keep it with Slipway: --skip-refused")
	}
	if l.cluster == nil || l.plane == nil || l.release == nil {
		u.problem("its Helm release "+o.Stack()+", its Cluster, or its control plane is missing in namespace "+o.Namespace, "see slipway why "+o.Namespace+"/"+o.Stack())
		return
	}
	if status := l.release.Info.Status; status != helmrelease.StatusDeployed {
		u.problem(fmt.Sprintf("its release is %s, not deployed", status), "resize the cluster with Slipway first, to the size that it has: that repairs the release")
	}
	for _, one := range []client.Object{l.cluster, l.plane} {
		if one.GetDeletionTimestamp() != nil {
			u.problem(one.GetObjectKind().GroupVersionKind().Kind+" "+one.GetName()+" is being deleted", "wait, and run the command again")
		}
	}
	if r := o.Status.Release; r == nil || !r.Foreign {
		const why = "its release is of Slipway's chart: with its first change, Magnum's driver installs its own chart and replaces the machines, one after the other"
		if !j.choices.MayRoll {
			u.problem(why, "keep it with Slipway (--skip-refused), or accept it (--may-roll)")
		} else {
			u.Notes = append(u.Notes, why)
		}
	}
}

// credential is the cluster's access to OpenStack, which stays in its Secret.
func (j *returning) credential(u *unit, o *v1alpha1.Cluster, l *look) {
	part := &Returned{Kind: KindCredential, Cluster: u.Name, Item: Item{Name: o.CredentialSecret(), ProjectID: u.ProjectID, Verdict: Unchanged}}
	u.parts = append(u.parts, part)
	want := o.Stack() + "-cloud-credentials"
	c := &Cluster{look: l}
	switch {
	case o.CredentialSecret() != want:
		part.problem("its Secret is "+o.CredentialSecret()+", and Magnum's driver looks for "+want, "keep the cluster with Slipway: --skip-refused")
	case l.secrets["cloud-credentials"] == nil:
		part.problem("its Secret "+want+" is missing", "rotate the credential with Slipway first (openstack coe credential rotate)")
	case c.credential() == "":
		part.problem("its Secret "+want+" names no application credential", "rotate the credential with Slipway first (openstack coe credential rotate)")
	default:
		part.Notes = append(part.Notes, "application credential "+c.credential()+" stays in Secret "+want)
	}
}

// deletedCluster is a row without an object of Slipway's.
func (j *returning) deletedCluster(row *database.Cluster) error {
	u := &unit{Returned: &Returned{Kind: KindCluster, Item: Item{UUID: row.UUID, Name: row.Name, ProjectID: row.ProjectID, Verdict: Magnums}}, template: row.TemplateID}
	j.units = append(j.units, u)
	u.record = j.recordOfDeleted(row.ProjectID, recordCluster+strings.ToLower(row.UUID))
	if u.record == nil {
		return nil // never adopted
	}
	namespace := v1alpha1.Namespace(row.ProjectID)
	l, err := j.site.see(j.ctx, namespace, row.StackID)
	if err != nil {
		return err
	}
	if l.release, err = j.site.Releases.Last(j.ctx, namespace, row.StackID); err != nil {
		return err
	}
	removed(j, u, "cluster", row.ID, database.ClusterColumns(), u.record.Cluster, row)
	if l.release != nil || l.cluster != nil || l.machines > 0 {
		u.problem("Slipway has no resource of it, and its release or its machines are still there", "import and adopt it again, or delete it in Magnum afterwards")
	}
	for n := range j.image.Groups {
		if g := &j.image.Groups[n]; g.ClusterID == row.UUID {
			u.parts = append(u.parts, &Returned{Kind: KindGroup, Cluster: u.Name, Item: Item{UUID: g.UUID, Name: g.Name, ProjectID: row.ProjectID, Verdict: Delete}})
			u.delete("nodegroup", g.ID)
		}
	}
	left := 0
	for _, reference := range []string{row.CARef, row.MagnumRef, row.EtcdRef, row.FrontProxyRef} {
		id := j.image.ID("x509keypair", reference)
		if id != 0 {
			u.work.Changes = append(u.work.Changes, database.Change{Table: "x509keypair", ID: id, Delete: true})
		} else if reference != "" {
			left++
		}
	}
	if left > 0 {
		u.Notes = append(u.Notes, fmt.Sprintf("%d certificates of it stay in Magnum's store, which is not its database", left))
	}
	return nil
}
