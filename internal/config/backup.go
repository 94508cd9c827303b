package config

import (
	"time"

	"github.com/slipway-sh/slipway/internal/backup/rhythm"
)

// Backup is where `slipway backup` keeps backups of the management cluster, and who
// can read them.
type Backup struct {
	// Where the backups are: `file://` with a folder, which is relative to the folder of the first environment file unless it begins with a slash;
	// `swift://container/prefix` in the environment's own project; or `s3://bucket/prefix` with the query parameters `endpoint=` and `region=` for a
	// server that is not Amazon's, and `pathStyle=true` if the bucket is in its path. Each environment needs a prefix of its own.
	Target string `json:"target" schema:"required,format=target"`
	// Public keys of those who can read the backups, as `age-keygen` prints them (`age1…`). Keep their private keys away from the cloud.
	Recipients []string `json:"recipients" schema:"required,format=recipient"`
	// Writers whose backups are accepted, as `slipway backup list` prints them (`ed25519:…`). Name them, so that whoever can write to the target cannot
	// pass off backups as yours. Empty: all are accepted.
	Signers []string `json:"signers,omitempty" schema:"format=signer"`
	// API groups of your own whose objects are part of the backup, such as `example.org`.
	Groups []string `json:"groups,omitempty" schema:"format=hostname"`
	// PEM file with the CA of the S3 server's certificate, if `caBundle` does not contain it.
	CAFile File `json:"caFile,omitempty"`
	// Which backups `slipway backup prune` keeps. The newest always stays.
	Keep Keep `json:"keep"`
	// How long `slipway undo` can go back to the backup that `slipway up` makes before it changes controllers or Kubernetes, and how long that backup is
	// kept at least; from 1h to 720h.
	UndoWindow Duration `json:"undoWindow" default:"72h" schema:"format=duration"`
	// Backups that the management cluster makes by itself, also when no machine of yours is on. Empty: only `slipway backup create` makes any.
	Schedule *BackupSchedule `json:"schedule,omitempty"`
	// How often `slipway backup drill` must pass. Run it with `--if-due` where the private key is: the management cluster has none that reads a backup,
	// and only watches. It needs `schedule`. Empty: nobody hears that none was made.
	Drill *BackupDrill `json:"drill,omitempty"`
}

// Window is how long an upgrade can be undone.
func (b Backup) Window() time.Duration { return time.Duration(b.UndoWindow) }

// BackupDrill is how often a backup must be restored for practice.
type BackupDrill struct {
	// Time between two drills; at least 1h. Without `every` and `cron` it is 168h, a week.
	Every Duration `json:"every,omitempty" schema:"format=duration"`
	// Instead of `every`, the times of the drills as a cron expression of five fields, in UTC.
	Cron string `json:"cron,omitempty" schema:"format=cron"`
}

// BackupSchedule is when the management cluster makes backups by itself. It also prunes them, as `keep` says.
type BackupSchedule struct {
	// Time between two backups, and so the most that is lost; at least 5m. Without `every` and `cron` it is 1h.
	Every Duration `json:"every,omitempty" schema:"format=duration"`
	// Instead of `every`, the times of the backups as a cron expression of five fields, in UTC: `30 2 * * *` is every night at half past two. A backup
	// that was missed is made as soon as possible, once.
	Cron string `json:"cron,omitempty" schema:"format=cron"`
	// File with the login of S3 that the management cluster gets, as AWS's tools write it: `[default]`, `aws_access_key_id` and
	// `aws_secret_access_key`. Give it no more rights than to read, write, list and delete in its prefix. Required for s3://.
	S3CredentialsFile File `json:"s3CredentialsFile,omitempty"`
}

// The rhythms of files that name none.
const (
	usualBackup = time.Hour
	usualDrill  = 7 * 24 * time.Hour
)

// Rhythm is when backups are made. The schedule must be valid.
func (s BackupSchedule) Rhythm() rhythm.Rhythm { return rhythmOf(s.Every, s.Cron, usualBackup) }

// Rhythm is when drills are due. The drill must be valid.
func (d BackupDrill) Rhythm() rhythm.Rhythm { return rhythmOf(d.Every, d.Cron, usualDrill) }

func rhythmOf(every Duration, cron string, usual time.Duration) rhythm.Rhythm {
	if r, err := rhythm.Cron(cron); cron != "" && err == nil {
		return r
	}
	if every == 0 {
		return rhythm.Every(usual)
	}
	return rhythm.Every(time.Duration(every))
}

// Keep is which backups stay; a backup that one of the rules wants stays.
type Keep struct {
	// The newest so many.
	Last int `json:"last" default:"7" schema:"min=1,max=10000"`
	// The newest of a day, for so many days that have one. Days, weeks and months are those of UTC.
	Daily int `json:"daily" default:"14" schema:"min=0,max=10000,zero"`
	// The newest of a week, for so many weeks.
	Weekly int `json:"weekly" default:"8" schema:"min=0,max=10000,zero"`
	// The newest of a month, for so many months.
	Monthly int `json:"monthly" default:"12" schema:"min=0,max=10000,zero"`
}
