package stacks_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	own "github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/addons/scheduledbackup"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/stacks"
)

// TestTheManagementClusterHasTheFenceAndItsBackups: the controllers on it look at the
// fence with the environment's credential, and its backups log in with one of their own. On
// the seed only the backups look, and they have a third login.
func TestTheManagementClusterHasTheFenceAndItsBackups(t *testing.T) {
	t.Parallel()
	w, _ := magnumWorld(t)
	w.env.Config.Spec.Backup = &config.Backup{Target: "swift://b/demo", Schedule: &config.BackupSchedule{Every: config.Duration(time.Hour)}}
	w.env.Equipment.Backup = &scheduledbackup.Settings{Environment: "demo", Target: "swift://b/demo", Recipients: []string{"age1x"}, Every: "1h0m0s", Key: make([]byte, 32)}
	w.up(t)
	credential, backups := w.state(t, stacks.StepCredential).ID, w.state(t, stacks.StepBackupCredential).ID
	for _, step := range []string{stacks.StepManagementControllers, stacks.StepMagnum} {
		var fence own.Fence
		if err := json.Unmarshal([]byte(w.state(t, step).Text("fence")), &fence); err != nil || fence.Environment != w.env.Config.Metadata.Name || !strings.Contains(fence.Clouds, credential) || !strings.Contains(fence.Clouds, "clouds:") {
			t.Errorf("%s: fence of %q, %v", step, fence.Environment, err)
		}
	}
	settings, err := scheduledbackup.ParseSettings([]byte(w.state(t, stacks.StepManagementControllers).Text("backup")))
	if err != nil || backups == "" || backups == credential || !strings.Contains(settings.Clouds, backups) {
		t.Errorf("backups: %v", err)
	}
	if settings.Machine != "" {
		t.Error("the management cluster's nodes are opened")
	}
	seed, third := w.state(t, stacks.StepControllers), w.state(t, stacks.StepSeedBackupCredential).ID
	onSeed, err := scheduledbackup.ParseSettings([]byte(seed.Text("backup")))
	if err != nil || third == "" || third == backups || third == credential || !strings.Contains(onSeed.Clouds, third) || onSeed.Machine == "" {
		t.Errorf("backups of the seed: machine %q, %v", onSeed.Machine, err)
	}
	var fence own.Fence
	if err := json.Unmarshal([]byte(seed.Text("fence")), &fence); err != nil || fence.Only != own.SetBackup || !strings.Contains(fence.Clouds, credential) {
		t.Errorf("fence of the seed for %q, %v", fence.Only, err)
	}
}
