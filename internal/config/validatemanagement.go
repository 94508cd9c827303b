package config

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/rhythm"
)

// management checks the rules that span several settings of the management cluster.
func (v *validator) management(e *Environment) {
	at := field.NewPath("spec", "managementCluster")
	m := e.Spec.ManagementCluster
	if m == nil {
		return
	}
	if m.ControlPlane.Count%2 == 0 && m.ControlPlane.Count >= 1 && m.ControlPlane.Count <= 7 {
		v.add(at.Child("controlPlane", "count"), "write 1, 3, 5 or 7", "with %d members etcd survives no more failures than with %d", m.ControlPlane.Count, m.ControlPlane.Count-1)
	}
	if k := m.Kubeconfig; k != nil && k.Token != nil && time.Duration(k.Token.Lifetime) < 10*time.Minute {
		v.add(at.Child("kubeconfig", "token", "lifetime"), "write 10m or more", "Kubernetes issues no token for less than 10 minutes")
	}
	if a := m.Addons.Velero; a != nil && time.Duration(a.Schedule.KeepFor) < time.Hour {
		v.add(at.Child("addons", "velero", "schedule", "keepFor"), "write 1h or more", "%s is too short: a backup would be gone before the next", time.Duration(a.Schedule.KeepFor))
	}
	seen := map[string]bool{}
	for i, group := range m.NodeGroups {
		at := at.Child("nodeGroups").Index(i).Child("name")
		switch {
		case seen[group.Name]:
			v.add(at, "choose another one", "there is already a group %s", group.Name)
		case group.Name == "control-plane":
			v.add(at, "choose another one", "this name is reserved for the control plane")
		case group.Name != "" && len(group.Name) < 3:
			v.add(at, "write at least 3 characters", "%q is too short", group.Name)
		}
		seen[group.Name] = true
	}
}

// role refuses a pivot without a management cluster.
func (v *validator) role(e *Environment) {
	if e.Spec.Seed.Role == RolePivot && e.Spec.ManagementCluster == nil {
		v.add(field.NewPath("spec", "seed", "role"), "add spec.managementCluster, or set the role to permanent", "there is no management cluster to pivot to")
	}
}

// backup refuses a schedule that no management cluster can keep.
func (v *validator) backup(e *Environment) {
	if e.Spec.Backup == nil {
		return
	}
	v.drill(e.Spec.Backup)
	if window := e.Spec.Backup.Window(); window < time.Hour || window > 720*time.Hour {
		v.add(field.NewPath("spec", "backup", "undoWindow"), "write a duration from 1h to 720h", "%s is too short or too long", window)
	}
	if e.Spec.Backup.Schedule == nil {
		return
	}
	at, s := field.NewPath("spec", "backup", "schedule"), e.Spec.Backup.Schedule
	if e.Spec.ManagementCluster == nil {
		v.add(at, "add spec.managementCluster, or leave out the schedule", "the management cluster makes the backups, but there is none")
	}
	v.rhythm(at, time.Duration(s.Every), s.Cron, 5*time.Minute)
	target, err := location.Parse(e.Spec.Backup.Target)
	switch {
	case err != nil: // told by its format
	case target.Scheme == location.Folder:
		v.add(at, "name a target in Swift or S3", "the management cluster cannot write to a folder of this machine")
	case target.Scheme == location.S3 && s.S3CredentialsFile == "":
		v.add(at.Child("s3CredentialsFile"), "name a file with a login of S3 for the management cluster", "this is required for a target in S3")
	}
}

// drill refuses drills that nobody watches.
func (v *validator) drill(b *Backup) {
	at := field.NewPath("spec", "backup", "drill")
	if b.Drill == nil {
		return
	}
	if b.Schedule == nil {
		v.add(at, "add spec.backup.schedule, or leave out drill", "what makes the scheduled backups watches the drills, but there is no schedule")
	}
	v.rhythm(at, time.Duration(b.Drill.Every), b.Drill.Cron, time.Hour)
}

// rhythm refuses what is due too often, and two answers to when it is.
func (v *validator) rhythm(at *field.Path, every time.Duration, cron string, least time.Duration) {
	if cron == "" {
		if every >= 0 && every < least && v.given(at.Child("every").String()) {
			v.add(at.Child("every"), "write "+short(least)+" or more", "%s is too short", every)
		}
		return
	}
	if v.given(at.Child("every").String()) {
		v.add(at.Child("cron"), "keep one of the two", "every and cron are both given")
	}
	if r, err := rhythm.Cron(cron); err == nil && r.Shortest(time.Unix(0, 0)) < least { // else told by its format
		v.add(at.Child("cron"), "leave "+short(least)+" or more between two times", "%s lie between two of them", r.Shortest(time.Unix(0, 0)))
	}
}

// short writes a duration without what is zero.
func short(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

// magnum refuses an API without a management cluster, and an overlap in which no
// controller could get its new credential.
func (v *validator) magnum(e *Environment) {
	at, m := field.NewPath("spec", "magnum"), e.Spec.Magnum
	if m == nil {
		return
	}
	if overlap := time.Duration(m.CredentialOverlap); overlap < time.Minute {
		v.add(at.Child("credentialOverlap"), "write 1m or more", "%s is too short: the new credential must reach all clusters in half of it", overlap)
	}
	if e.Spec.ManagementCluster == nil {
		v.add(at, "add spec.managementCluster, or leave out spec.magnum", "the API runs on the management cluster, but there is none")
	}
	v.managementClusters(at, e)
}

// managementClusters refuses two of a name, and closed ones that nobody knows.
func (v *validator) managementClusters(at *field.Path, e *Environment) {
	names := []string{e.Metadata.Name}
	for i, other := range e.Spec.Magnum.ManagementClusters {
		if slices.Contains(names, other.Name) {
			v.add(at.Child("managementClusters").Index(i).Child("name"), "give each a name of its own", "%q is the name of another one, or of this environment", other.Name)
		}
		names = append(names, other.Name)
	}
	for i, name := range e.Spec.Magnum.Closed {
		if !slices.Contains(names, name) {
			v.add(at.Child("closed").Index(i), "known here: "+strings.Join(names, ", "), "there is no management cluster %q", name)
		}
	}
}
