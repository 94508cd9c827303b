package moving

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// judge says what becomes of each object.
type judge struct {
	ctx  context.Context
	site Site
	db   *database.Database
	// exists remembers projects.
	exists map[string]bool
	ours   map[string]bool
	// records are of what was adopted.
	records map[client.ObjectKey]*kept
}

const dumpAgain = "the database was copied half-way or changed meanwhile: read it again"

// project checks that a project exists.
func (j *judge) project(i *Item) error {
	if j.site.Projects == nil {
		return nil
	}
	exists, known := j.exists[i.ProjectID]
	if !known {
		var err error
		if exists, err = j.site.Projects.ProjectExists(j.ctx, i.ProjectID); err != nil {
			return fmt.Errorf("asking Keystone for project %s: %w", i.ProjectID, err)
		}
		j.exists[i.ProjectID] = exists
	}
	if !exists {
		i.problem("its project "+i.ProjectID+" does not exist any more", "delete it in Magnum with an administrator's login")
	}
	return nil
}

// adopted reports whether Slipway manages an object already, or has deleted one that it managed:
// that is not copied again, or a hand-back would not delete it. What is on its way back has changes
// of Slipway's that Magnum may not have yet: no import writes over them.
func (j *judge) adopted(i *Item, o client.Object, r record) (bool, error) {
	k := j.records[client.ObjectKey{Namespace: o.GetNamespace(), Name: r.name()}]
	err := j.site.Client.Get(j.ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		deleted := k != nil && !k.pending() && !k.another(r.Quota)
		if deleted {
			i.Notes = append(i.Notes, "Slipway adopted and deleted it; a hand-back deletes Magnum's row")
		}
		return deleted, nil
	}
	if err != nil {
		kind, unknown := j.site.Client.GroupVersionKindFor(o)
		if unknown != nil {
			return false, fmt.Errorf("asking for the kind of %T: %w", o, unknown)
		}
		return false, noKind(kind, err)
	}
	if v1alpha1.Held(o) == v1alpha1.HeldByHandBack {
		i.problem("a hand-back of it was begun and not completed", "complete it first: slipway magnum hand-back")
	}
	i.unsettled = v1alpha1.Held(o) == "" && k.pending()
	return v1alpha1.Held(o) == "", nil
}

func (j *judge) template(t database.Template) (Item, error) {
	i := Item{UUID: t.UUID, Name: t.Name, ProjectID: t.ProjectID, Verdict: Adopt}
	if n := count(j.db.Templates, func(o database.Template) bool { return o.UUID == t.UUID }); n > 1 {
		i.problem(fmt.Sprintf("%d templates have its UUID", n), dumpAgain)
	}
	for _, check := range []struct {
		wrong bool
		what  string
	}{
		{t.COE != "kubernetes", "its coe is " + t.COE + ", not kubernetes"},
		{!slices.Contains([]string{"", "calico", "cilium", "flannel"}, t.NetworkDriver), "its network driver " + t.NetworkDriver + " is not known"},
		{!slices.Contains([]string{"", "cinder"}, t.VolumeDriver), "its volume driver " + t.VolumeDriver + " is not cinder"},
		{!slices.Contains([]string{"", "vm", "bm"}, t.ServerType), "its server type " + t.ServerType + " is neither vm nor bm"},
		{t.ImageID == "", "it names no image"},
	} {
		if check.wrong {
			i.problem(check.what, "it cannot be used for new clusters; delete it in Magnum, or leave it behind")
		}
	}
	ours, err := j.adopted(&i, templateKey(t), record{Template: &t})
	if err != nil || ours {
		i.Verdict = Ours
		return i, err
	}
	return i, j.project(&i)
}

func (j *judge) quota(q database.Quota) (Item, error) {
	i := Item{Name: q.Resource, ProjectID: q.ProjectID, Verdict: Adopt}
	if q.Resource != v1alpha1.ResourceCluster {
		i.problem("quotas on "+q.Resource+" do not exist", "delete it in Magnum")
		return i, nil
	}
	ours, err := j.adopted(&i, quotaKey(q), record{Quota: &q})
	if err != nil || ours {
		i.Verdict = Ours
		return i, err
	}
	return i, j.project(&i)
}

// Stack ids of Magnum's drivers: Heat's are UUIDs, magnum-cluster-api's have five
// characters after kube-; all others are names of Helm releases.
var (
	heatStack    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	clusterStack = regexp.MustCompile(`^kube-[a-z0-9]{5}$`)
	releaseName  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,41}[a-z0-9])?$`)
)

func driverOf(stack string) string {
	switch {
	case heatStack.MatchString(stack):
		return Heat
	case clusterStack.MatchString(stack):
		return ClusterAPI
	}
	return CAPIHelm
}

func (j *judge) cluster(row database.Cluster) (*Cluster, error) {
	c := &Cluster{Item: Item{UUID: row.UUID, Name: row.Name, ProjectID: row.ProjectID, Verdict: Adopt}, Driver: driverOf(row.StackID),
		StackID: row.StackID, Status: row.Status, row: row}
	c.groups = slices.Collect(func(yield func(database.NodeGroup) bool) {
		for _, g := range j.db.Groups {
			if g.ClusterID == row.UUID && !yield(g) {
				return
			}
		}
	})
	c.Groups = len(c.groups)
	for _, g := range c.groups {
		c.Machines += int(g.NodeCount)
	}
	template := j.rows(c)
	if c.StackID == "" || !releaseName.MatchString(c.StackID) {
		c.problem("it has no stack: Magnum never began to build it", "delete it in Magnum")
		return c, nil
	}
	ours, err := j.adopted(&c.Item, clusterKey(row), record{Cluster: &row})
	if err != nil || ours {
		c.Verdict, c.Problems = Ours, nil
		return c, err
	}
	if err := j.project(&c.Item); err != nil || template == nil {
		return c, err
	}
	switch c.Driver {
	case CAPIHelm:
		err = j.capiHelm(c, *template)
	case ClusterAPI:
		err = j.clusterAPI(c, *template)
	default:
		err = j.heat(c, *template)
	}
	return c, err
}

// rows checks what the database says by itself, and returns the template.
func (j *judge) rows(c *Cluster) *database.Template {
	if n := count(j.db.Clusters, func(o database.Cluster) bool { return o.UUID == c.UUID }); n > 1 {
		c.problem(fmt.Sprintf("%d clusters have its UUID", n), dumpAgain)
	}
	if n := count(j.db.Clusters, func(o database.Cluster) bool { return o.StackID == c.StackID }); n > 1 && c.StackID != "" {
		c.problem(fmt.Sprintf("%d clusters have its stack id %s", n, c.StackID), dumpAgain)
	}
	if n := count(j.db.Clusters, func(o database.Cluster) bool { return o.Name == c.Name && o.ProjectID == c.ProjectID }); n > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d clusters of its project have its name: clients must use the UUID, as with Magnum", n))
	}
	if strings.HasSuffix(c.Status, "_IN_PROGRESS") {
		c.problem("Magnum is still working on it ("+c.Status+")", "wait until it is done and read the database again")
	}
	names := map[string]bool{}
	for _, g := range c.groups {
		if names[v1alpha1.Sanitise(g.Name)] {
			c.problem("two node groups have the name "+v1alpha1.Sanitise(g.Name), dumpAgain)
		}
		names[v1alpha1.Sanitise(g.Name)] = true
	}
	for _, name := range []string{v1alpha1.DefaultMaster, v1alpha1.DefaultWorker} {
		if !names[name] {
			c.problem("its node group "+name+" is missing", dumpAgain)
		}
	}
	for _, g := range c.groups {
		if g.Role == v1alpha1.RoleMaster && g.NodeCount%2 == 0 {
			c.problem(fmt.Sprintf("its control plane %s has %d machines, and Slipway takes odd numbers only", g.Name, g.NodeCount),
				"resize it to an odd number with Magnum (openstack coe cluster resize --nodegroup "+g.Name+"), then read the database again; or leave it behind")
		}
	}
	at := slices.IndexFunc(j.db.Templates, func(t database.Template) bool { return t.UUID == c.row.TemplateID })
	if at < 0 {
		c.problem("its template "+c.row.TemplateID+" is missing", dumpAgain)
		return nil
	}
	t := j.db.Templates[at]
	if c.row.TrustID != "" {
		c.Notes = append(c.Notes, "its trust "+c.row.TrustID+" of user "+c.row.TrusteeID+" is Magnum's and is not used by Slipway")
	}
	return &t
}
