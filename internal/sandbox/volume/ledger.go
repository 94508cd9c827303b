package volume

import (
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/quota"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// ledger compares what a project uses with what it may.
type ledger struct {
	env     *api.Env
	project string
}

// quotas are the limits, with three for each type.
func quotas(r store.Reader, env *api.Env) quota.Set {
	defaults := map[string]int{"volumes": 10, "snapshots": 10, "gigabytes": 1000, "backups": 10,
		"backup_gigabytes": 1000, "per_volume_gigabytes": -1, "groups": 10}
	for t := range env.Model.Volume.Types.All(r) {
		for _, resource := range []string{"volumes", "snapshots", "gigabytes"} {
			defaults[resource+"_"+t.Name] = -1
		}
	}
	return quota.Set{Service: kind, Defaults: defaults, Quotas: env.Model.Quotas, Faults: env.Faults}
}

// used counts what the project has, by the names of the quotas.
func (l ledger) used(r store.Reader) map[string]int {
	m := l.env.Model.Volume
	used := map[string]int{}
	typeName := func(id string) string { t, _ := m.Types.Get(r, id); return t.Name }
	for v := range m.VolumesOf.Each(r, l.project) {
		name := typeName(v.TypeID)
		size := max(v.Size, v.NewGiB)
		used["volumes"]++
		used["volumes_"+name]++
		used["gigabytes"] += size
		used["gigabytes_"+name] += size
	}
	for s := range m.SnapshotsOf.Each(r, l.project) {
		origin, _ := m.Volumes.Get(r, s.VolumeID)
		name := typeName(origin.TypeID)
		used["snapshots"]++
		used["snapshots_"+name]++
		used["gigabytes"] += s.Size
		used["gigabytes_"+name] += s.Size
	}
	for b := range m.BackupsOf.Each(r, l.project) {
		used["backups"]++
		used["backup_gigabytes"] += b.Size
	}
	return used
}

// volumes refuses more volumes of a type, or more gigabytes in all, than the
// project may have.
func (l ledger) volumes(r store.Reader, typeName string, count, gib int) error {
	set, used := quotas(r, l.env), l.used(r)
	if limit, exceeded := set.Exceeded(r, l.project, "per_volume_gigabytes", 0, gib); exceeded && count > 0 {
		return over("VolumeSizeExceedsLimit: Requested volume size %dG is larger than maximum allowed limit %dG.", gib, limit)
	}
	if err := l.gigabytes(r, set, used, typeName, gib); err != nil {
		return err
	}
	for _, name := range []string{"volumes", "volumes_" + typeName} {
		if limit, exceeded := set.Exceeded(r, l.project, name, used[name], count); exceeded {
			return over("VolumeLimitExceeded: Maximum number of volumes allowed (%d) exceeded for quota '%s'.", limit, name)
		}
	}
	return nil
}

func (l ledger) gigabytes(r store.Reader, set quota.Set, used map[string]int, typeName string, gib int) error {
	for _, name := range []string{"gigabytes", "gigabytes_" + typeName} {
		if limit, exceeded := set.Exceeded(r, l.project, name, used[name], gib); exceeded {
			return over("VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed %s quota. "+
				"Requested %dG, quota is %dG and %dG has been consumed.", name, gib, limit, used[name])
		}
	}
	return nil
}

// grow refuses a volume of more gigabytes.
func (l ledger) grow(r store.Reader, v model.Volume, gib int) error {
	set := quotas(r, l.env)
	if limit, exceeded := set.Exceeded(r, l.project, "per_volume_gigabytes", 0, gib); exceeded {
		return over("VolumeSizeExceedsLimit: Requested volume size %dG is larger than maximum allowed limit %dG.", gib, limit)
	}
	t, _ := l.env.Model.Volume.Types.Get(r, v.TypeID)
	return l.gigabytes(r, set, l.used(r), t.Name, gib-v.Size)
}

func (l ledger) snapshot(r store.Reader, v model.Volume) error {
	set, used := quotas(r, l.env), l.used(r)
	t, _ := l.env.Model.Volume.Types.Get(r, v.TypeID)
	if err := l.gigabytes(r, set, used, t.Name, v.Size); err != nil {
		return err
	}
	for _, name := range []string{"snapshots", "snapshots_" + t.Name} {
		if limit, exceeded := set.Exceeded(r, l.project, name, used[name], 1); exceeded {
			return over("SnapshotLimitExceeded: Maximum number of snapshots allowed (%d) exceeded", limit)
		}
	}
	return nil
}

func (l ledger) backup(r store.Reader, gib int) error {
	set, used := quotas(r, l.env), l.used(r)
	if limit, exceeded := set.Exceeded(r, l.project, "backup_gigabytes", used["backup_gigabytes"], gib); exceeded {
		return over("VolumeBackupSizeExceedsAvailableQuota: Requested backup exceeds allowed Backup gigabytes quota. "+
			"Requested %dG, quota is %dG and %dG has been consumed.", gib, limit, used["backup_gigabytes"])
	}
	if limit, exceeded := set.Exceeded(r, l.project, "backups", used["backups"], 1); exceeded {
		return over("BackupLimitExceeded: Maximum number of backups allowed (%d) exceeded", limit)
	}
	return nil
}
