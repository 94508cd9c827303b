package config

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
	// Backups that the management cluster makes by itself, also when no machine of yours is on. Empty: only `slipway backup create` makes any.
	Schedule *BackupSchedule `json:"schedule,omitempty"`
}

// BackupSchedule is when the management cluster makes backups by itself. It also prunes them, as `keep` says.
type BackupSchedule struct {
	// Time between two backups, and so the most that is lost; at least 5m.
	Every Duration `json:"every" default:"1h" schema:"format=duration"`
	// File with the login of S3 that the management cluster gets, as AWS's tools write it: `[default]`, `aws_access_key_id` and
	// `aws_secret_access_key`. Give it no more rights than to read, write, list and delete in its prefix. Required for s3://.
	S3CredentialsFile File `json:"s3CredentialsFile,omitempty"`
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
