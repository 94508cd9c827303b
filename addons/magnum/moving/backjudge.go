package moving

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// returning judges what becomes of everything on its way back to Magnum.
type returning struct {
	ctx     context.Context
	site    Site
	image   *database.Image
	choices Choices
	plan    *HandBack
	records map[client.ObjectKey]*kept
	units   []*unit
	// templates are the UUIDs that Magnum will have.
	templates map[string]bool
}

const (
	withoutRecord = "Slipway has no record of what Magnum had when it was moved in: nobody can tell what was changed where"
	overwriteIt   = "set Magnum's row right, or have it written over with --overwrite "
)

// recordOf finds a record.
func (j *returning) recordOf(project, name string) *kept {
	return j.records[client.ObjectKey{Namespace: v1alpha1.Namespace(project), Name: name}]
}

// recordOfDeleted finds the record of something that was adopted and is gone; nil also if it was
// deleted before it was adopted.
func (j *returning) recordOfDeleted(project, name string) *kept {
	if k := j.recordOf(project, name); !k.pending() {
		return k
	}
	return nil
}

// overwrites reports whether the operator wants an object's rows written over.
func (j *returning) overwrites(i Item) bool {
	return slices.ContainsFunc(j.choices.Overwrite, func(ident string) bool { return ident == handle(i) || strings.EqualFold(ident, i.ID()) })
}

// handle is how an operator names something: quotas have their project alone.
func handle(i Item) string {
	if i.UUID == "" {
		return i.ProjectID
	}
	return i.Name
}

// list reads Slipway's objects of a kind.
func (j *returning) list(list client.ObjectList, kind string) error {
	if err := j.site.Client.List(j.ctx, list); err != nil {
		return noKind(v1alpha1.GroupVersion().WithKind(kind), err)
	}
	return nil
}

// there is what is asked of every row that Slipway has an object of.
type there struct {
	object   client.Object
	row      bool // Magnum has a row
	recorded bool
}

// entitled reports whether an object of Slipway's may be written at all.
func (j *returning) entitled(i *Item, t there) {
	begun, forced := v1alpha1.Held(t.object) == v1alpha1.HeldByHandBack, j.overwrites(*i)
	switch {
	case t.object.GetDeletionTimestamp() != nil:
		i.problem("it is being deleted", "wait until it is gone, and run the command again")
	case begun || forced:
	case t.row && !t.recorded:
		i.problem(withoutRecord, overwriteIt+handle(*i))
	case !t.row && (t.recorded || v1alpha1.FormerID(t.object) > 0):
		i.problem("Magnum deleted its row since it was moved in", "delete it in Slipway, or have the row made again with --overwrite "+handle(*i))
	}
}

// outcome takes what a merge says into the verdict and the work.
func outcome[T any](j *returning, u *unit, i *Returned, table string, id int64, columns []database.Column[T], v database.Versions[T]) {
	if j.overwrites(i.Item) || j.overwrites(u.Item) {
		v.Then = nil
	}
	i.Changes, i.Conflicts = database.Merge(columns, v)
	for _, c := range i.Conflicts {
		i.problem(fmt.Sprintf("somebody changed %s in Magnum since it was moved in: Magnum has %s, Slipway %s", c.Column, shownValue(c.Magnum), shownValue(c.Slipway)),
			overwriteIt+handle(u.Item))
	}
	u.work.Guard = append(u.work.Guard, database.Ref{Table: table, ID: id})
	set := j.settable(i, table, i.Changes)
	i.Changes = slices.DeleteFunc(i.Changes, func(c database.Difference) bool { _, has := set[c.Column]; return !has })
	if i.Verdict == Refuse || len(set) == 0 {
		return
	}
	i.Verdict = Write
	set["updated_at"] = now()
	u.work.Changes = append(u.work.Changes, database.Change{Table: table, ID: id, Set: set})
}

// inserted is a row that Magnum does not have.
func inserted[T any](j *returning, u *unit, i *Returned, table string, columns []database.Column[T], row *T, o client.Object) {
	set := j.settable(i, table, database.NewRow(columns, row))
	if i.Verdict == Refuse {
		return
	}
	i.Verdict = Create
	if i.UUID != "" {
		set["uuid"] = i.UUID
	}
	if table == "nodegroup" {
		set["node_addresses"] = "[]" // Magnum's API goes through it, also where nobody fills it in
	}
	set["created_at"] = now()
	if created := v1alpha1.Created(o); !created.IsZero() {
		set["created_at"] = created.UTC().Truncate(time.Second)
	}
	u.work.Changes = append(u.work.Changes, database.Change{Table: table, Set: set})
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func shownValue(value any) string {
	if value == nil {
		return "nothing"
	}
	return fmt.Sprint(value)
}

// settable are the columns that the schema has. What an older one cannot say is a
// problem, unless there is nothing to say.
func (j *returning) settable(i *Returned, table string, changes []database.Difference) map[string]any {
	set := map[string]any{}
	for _, c := range changes {
		switch {
		case j.image.Has(table, c.Column):
			set[c.Column] = c.Slipway
		case c.Column == "driver", c.Slipway == nil, c.Slipway == "{}", c.Slipway == "[]":
		default:
			i.problem(fmt.Sprintf("its %s is %s, and Magnum %s has no such column", c.Column, shownValue(c.Slipway), j.image.Releases),
				"upgrade Magnum, or delete it with Slipway first")
		}
	}
	return set
}

// allTemplates judges Slipway's templates and those that were deleted.
func (j *returning) allTemplates() error {
	list := &v1alpha1.ClusterTemplateList{}
	if err := j.list(list, "ClusterTemplate"); err != nil {
		return err
	}
	seen := map[string]bool{}
	slices.SortFunc(list.Items, func(a, b v1alpha1.ClusterTemplate) int { return strings.Compare(a.UUID(), b.UUID()) })
	for n := range list.Items {
		o := &list.Items[n]
		seen[o.UUID()] = true
		j.template(o)
	}
	for n := range j.image.Templates {
		row := &j.image.Templates[n]
		if seen[row.UUID] {
			continue
		}
		u := &unit{Returned: &Returned{Kind: KindTemplate, Item: Item{UUID: row.UUID, Name: row.Name, ProjectID: row.ProjectID, Verdict: Magnums}}}
		j.units = append(j.units, u)
		if u.record = j.recordOfDeleted(row.ProjectID, recordTemplate+strings.ToLower(row.UUID)); u.record == nil || j.choices.Only != "" {
			j.templates[row.UUID] = true
			continue // never adopted
		}
		removed(j, u, "cluster_template", row.ID, database.TemplateColumns(), u.record.Template, row)
	}
	return nil
}

func (j *returning) template(o *v1alpha1.ClusterTemplate) {
	row := rowOfTemplate(o)
	u := &unit{Returned: &Returned{Kind: KindTemplate, Item: Item{UUID: o.UUID(), Name: o.Title(), ProjectID: o.Spec.ProjectID, Verdict: Magnums}}, object: o}
	j.units = append(j.units, u)
	at := slices.IndexFunc(j.image.Templates, func(t database.Template) bool { return t.UUID == o.UUID() })
	if held := v1alpha1.Held(o); held != "" && held != v1alpha1.HeldByHandBack || j.choices.Only != "" {
		j.templates[o.UUID()] = at >= 0
		return
	}
	u.Verdict, u.record = Unchanged, j.recordOf(row.ProjectID, recordTemplate+strings.ToLower(row.UUID))
	j.entitled(&u.Item, there{o, at >= 0, u.record != nil})
	if row.Driver == "" && v1alpha1.FormerID(o) == 0 {
		row.Driver = helmDriver // one of Slipway's own
	}
	switch {
	case at >= 0:
		v := database.Versions[database.Template]{Now: &j.image.Templates[at], Is: row}
		if u.record != nil {
			v.Then, v.Was = u.record.Template, rowOfTemplate(copyTemplate(*u.record.Template))
		}
		outcome(j, u, u.Returned, "cluster_template", v.Now.ID, database.TemplateColumns(), v)
	default:
		if !slices.Contains([]string{"ubuntu", "flatcar"}, row.ClusterDistro) || row.ServerType != "vm" || row.Driver != helmDriver {
			u.problem(fmt.Sprintf("Magnum's driver %s has no clusters of distribution %q, server type %q and driver %q", helmDriver, row.ClusterDistro, row.ServerType, row.Driver),
				"delete it in Slipway, or leave it there with --skip-refused")
		}
		inserted(j, u, u.Returned, "cluster_template", database.TemplateColumns(), row, o)
	}
	j.templates[o.UUID()] = at >= 0 || !u.refused()
}

// removed is the row of something that Slipway adopted and has no more.
func removed[T any](j *returning, u *unit, table string, id int64, columns []database.Column[T], then, row *T) {
	u.Verdict = Delete
	if !j.overwrites(u.Item) {
		undisturbed(u, u.Returned, columns, then, row)
	}
	u.delete(table, id)
}

// undisturbed asks that nobody changed a row that is to be deleted.
func undisturbed[T any](u *unit, i *Returned, columns []database.Column[T], then, row *T) {
	for _, c := range columns {
		if was, is := c.Value(then), c.Value(row); !c.Told && was != is {
			i.Conflicts = append(i.Conflicts, database.Difference{Column: c.Name, Magnum: is})
			i.problem(fmt.Sprintf("Slipway deleted it, and somebody changed %s in Magnum since it was moved in, from %s to %s", c.Name, shownValue(was), shownValue(is)),
				"delete it in Magnum, or have the row deleted with --overwrite "+handle(u.Item))
		}
	}
}

// delete is one row less.
func (u *unit) delete(table string, id int64) {
	u.work.Guard = append(u.work.Guard, database.Ref{Table: table, ID: id})
	u.work.Changes = append(u.work.Changes, database.Change{Table: table, ID: id, Delete: true})
}

// usedTemplates keeps templates that a row of a cluster still names.
func (j *returning) usedTemplates() {
	for _, u := range j.units {
		if u.Kind != KindTemplate || u.Verdict != Delete {
			continue
		}
		for _, c := range j.units {
			if c.Kind == KindCluster && c.template == u.UUID && (c.Verdict != Delete || c.refused()) {
				u.problem("Slipway deleted it, and in Magnum cluster "+c.Name+" is made from it", "hand that cluster back first, or delete it in Magnum")
			}
		}
	}
}

// allQuotas judges Slipway's quotas and those that were deleted.
func (j *returning) allQuotas() error {
	if j.choices.Only != "" {
		return nil
	}
	list := &v1alpha1.QuotaList{}
	if err := j.list(list, "Quota"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for n := range list.Items {
		o := &list.Items[n]
		seen[o.Spec.ProjectID+"/"+o.Spec.Resource] = true
		u := &unit{Returned: &Returned{Kind: KindQuota, Item: Item{Name: o.Spec.Resource, ProjectID: o.Spec.ProjectID, Verdict: Magnums}}, object: o}
		j.units = append(j.units, u)
		if held := v1alpha1.Held(o); held != "" && held != v1alpha1.HeldByHandBack {
			continue
		}
		u.Verdict, u.record = Unchanged, j.recordOf(o.Spec.ProjectID, recordQuota+v1alpha1.QuotaName(o.Spec.Resource))
		at := slices.IndexFunc(j.image.Quotas, func(q database.Quota) bool { return q.ProjectID == o.Spec.ProjectID && q.Resource == o.Spec.Resource })
		j.entitled(&u.Item, there{o, at >= 0, u.record != nil})
		if at < 0 {
			inserted(j, u, u.Returned, "quotas", database.QuotaColumns(), rowOfQuota(o), o)
			continue
		}
		v := database.Versions[database.Quota]{Now: &j.image.Quotas[at], Is: rowOfQuota(o)}
		if u.record != nil {
			v.Then, v.Was = u.record.Quota, rowOfQuota(copyQuota(*u.record.Quota))
		}
		outcome(j, u, u.Returned, "quotas", v.Now.ID, database.QuotaColumns(), v)
	}
	for n := range j.image.Quotas {
		row := &j.image.Quotas[n]
		if seen[row.ProjectID+"/"+row.Resource] {
			continue
		}
		u := &unit{Returned: &Returned{Kind: KindQuota, Item: Item{Name: row.Resource, ProjectID: row.ProjectID, Verdict: Magnums}}}
		j.units = append(j.units, u)
		if u.record = j.recordOfDeleted(row.ProjectID, recordQuota+v1alpha1.QuotaName(row.Resource)); u.record != nil && !u.record.another(row) {
			removed(j, u, "quotas", row.ID, database.QuotaColumns(), u.record.Quota, row)
		}
	}
	return nil
}
