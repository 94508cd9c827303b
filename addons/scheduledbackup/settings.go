// Package scheduledbackup makes backups of the management cluster from inside it, at an
// interval or at the times of a calendar, also when no other machine is on, and of the
// seed's datastore on the seed (docs/design/0031-scheduled-backups.md, 0039-seed-backups.md).
package scheduledbackup

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/rhythm"
)

// Settings are what the management cluster is given for its backups. They contain the
// writer's key and logins, and no key that reads a backup.
type Settings struct {
	Environment string   `json:"environment"`
	Target      string   `json:"target"`
	Recipients  []string `json:"recipients"`
	Signers     []string `json:"signers,omitempty"`
	// Groups are API groups besides those that every backup has.
	Groups []string    `json:"groups,omitempty"`
	Keep   backup.Keep `json:"keep"`
	// Every is the time between two backups, in Go's notation; Cron are their times instead.
	Every string `json:"every,omitempty"`
	Cron  string `json:"cron,omitempty"`
	// DrillEvery and DrillCron say the same of drills; without both, nobody watches them.
	DrillEvery string `json:"drillEvery,omitempty"`
	DrillCron  string `json:"drillCron,omitempty"`
	// Key is the writer's (backup.Key).
	Key []byte `json:"key"`
	// Clouds is a clouds.yaml with an entry `openstack`: it writes to Swift, and lists
	// what the environment's project has.
	Clouds string `json:"clouds"`
	// CA are PEM certificates by which the S3 server is trusted besides the system's.
	CA string `json:"ca,omitempty"`
	// S3 is the login of S3.
	S3 *S3 `json:"s3,omitempty"`
	// Machine is of the seed: the folder that has the root of its machine. The backups are
	// then of the seed's datastore alone, in a folder of their own in the target.
	Machine string `json:"machine,omitempty"`
}

// S3 is a login.
type S3 struct {
	AccessKeyID     string `json:"accessKeyID"`
	SecretAccessKey string `json:"secretAccessKey"`
}

// ParseSettings reads settings and checks them.
func ParseSettings(text []byte) (Settings, error) {
	var s Settings
	if err := json.Unmarshal(text, &s); err != nil {
		return s, errors.New("reading the settings of backups: they are not JSON") // the library's error could quote a key
	}
	if _, err := rhythm.Parse(s.Every, s.Cron); err != nil {
		return s, fmt.Errorf("reading the settings of backups: %w", err)
	}
	if _, err := s.drills(); err != nil {
		return s, fmt.Errorf("reading the settings of drills: %w", err)
	}
	switch {
	case s.Environment == "" || s.Target == "" || len(s.Recipients) == 0:
		return s, errors.New("reading the settings of backups: the environment, the target or the recipients are missing")
	case len(s.Key) != backup.KeySize:
		return s, fmt.Errorf("reading the settings of backups: the key has %d bytes instead of %d", len(s.Key), backup.KeySize)
	}
	return s, nil
}

// rhythm is when backups are due; ParseSettings has checked it.
func (s Settings) rhythm() rhythm.Rhythm {
	r, _ := rhythm.Parse(s.Every, s.Cron)
	return r
}

// drills is when drills are due, nil if nobody watches them.
func (s Settings) drills() (*rhythm.Rhythm, error) {
	if s.DrillEvery == "" && s.DrillCron == "" {
		return nil, nil
	}
	r, err := rhythm.Parse(s.DrillEvery, s.DrillCron)
	return &r, err
}
