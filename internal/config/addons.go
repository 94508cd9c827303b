package config

// Addons are programs that the management cluster gets on request.
type Addons struct {
	// Velero, for those whose backups are Velero's (docs/operations/velero.md). Slipway's own backups do not need it. Empty: it is not installed.
	Velero *Velero `json:"velero,omitempty"`
}

// Velero backs up the objects of the management cluster to a bucket of S3. The bundle must have it: `slipway bundle build --with velero`.
type Velero struct {
	// Bucket, which must exist.
	Bucket string `json:"bucket" schema:"required"`
	// Prefix in the bucket. Empty: the environment's name.
	Prefix string `json:"prefix,omitempty"`
	// URL of an S3 server that is not Amazon's.
	Endpoint string `json:"endpoint,omitempty" schema:"format=httpURL"`
	// Region of the bucket.
	Region string `json:"region" default:"us-east-1"`
	// Name the bucket in the path of URLs instead of in the host name. Most servers that are not Amazon's need this.
	PathStyle bool `json:"pathStyle" default:"true"`
	// File with the login of S3, mode 0600, as AWS's tools write it: `[default]`, `aws_access_key_id` and `aws_secret_access_key`. Give it no more
	// rights than to read, write, list and delete in its prefix.
	CredentialsFile File `json:"credentialsFile" schema:"required"`
	// PEM file with the CA of the server's certificate, if `caBundle` does not contain it.
	CAFile File `json:"caFile,omitempty"`
	// When backups are made.
	Schedule VeleroSchedule `json:"schedule"`
	// Let Velero restore. It may then do everything in the cluster; without it, it reads everything and writes in its own namespace only.
	Restore bool `json:"restore" default:"false"`
}

// VeleroSchedule is the Schedule `default` of Velero.
type VeleroSchedule struct {
	// Make backups by themselves. `false` leaves the Schedule there, paused, as the template of backups that you ask for.
	Enabled bool `json:"enabled" default:"true"`
	// Times of the backups as a cron expression of five fields, in UTC.
	Cron string `json:"cron" default:"0 3 * * *" schema:"format=cron"`
	// How long a backup is kept; at least 1h.
	KeepFor Duration `json:"keepFor" default:"720h" schema:"format=duration"`
	// Namespaces that are backed up. Empty: all, and what is in no namespace.
	Namespaces []string `json:"namespaces,omitempty" schema:"format=label"`
}
