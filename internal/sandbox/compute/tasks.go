package compute

import "github.com/slipway-sh/slipway/internal/sandbox/model"

// The tasks, by Nova's names.
const (
	taskScheduling      = "scheduling"
	taskNetworking      = "networking"
	taskBlockDevices    = "block_device_mapping"
	taskSpawning        = "spawning"
	taskDeleting        = "deleting"
	taskPoweringOff     = "powering-off"
	taskPoweringOn      = "powering-on"
	taskRebooting       = "rebooting"
	taskRebootingHard   = "rebooting_hard"
	taskPausing         = "pausing"
	taskUnpausing       = "unpausing"
	taskSuspending      = "suspending"
	taskResuming        = "resuming"
	taskPassword        = "updating_password"
	taskRebuilding      = "rebuilding"
	taskRebuildSpawning = "rebuild_spawning"
	taskResizePrep      = "resize_prep"
	taskResizeMigrating = "resize_migrating"
	taskResizeFinish    = "resize_finish"
	taskReverting       = "resize_reverting"
	taskMigrating       = "migrating"
	taskShelving        = "shelving"
	taskOffloading      = "shelving_offloading"
	taskUnshelving      = "unshelving"
	taskRescuing        = "rescuing"
	taskUnrescuing      = "unrescuing"
	taskSnapshot        = "image_snapshot"
	taskUploading       = "image_uploading"
)

// steps returns the step that ends each task, or begins the next one.
func (s *service) steps() map[string]step {
	return map[string]step{
		taskScheduling: s.schedule, taskNetworking: s.allocate, taskBlockDevices: s.mapDisks, taskSpawning: s.spawn,
		taskDeleting:    s.destroy,
		taskPoweringOff: s.powerOff, taskPoweringOn: s.powerOn,
		taskRebooting: s.reboot, taskRebootingHard: s.reboot,
		taskPausing:   s.freeze(model.ServerPaused),
		taskUnpausing: s.thaw, taskResuming: s.thaw,
		taskSuspending: s.freeze(model.ServerSuspended),
		taskPassword:   s.passwordSet,
		taskRebuilding: s.tearDown, taskRebuildSpawning: s.rebuilt,
		taskResizePrep: s.resizePrep, taskResizeMigrating: s.resizeMigrate, taskResizeFinish: s.resizeFinish,
		taskReverting: s.resizeRevert, taskMigrating: s.liveMigrated,
		taskShelving: s.shelved, taskOffloading: s.offloaded, taskUnshelving: s.unshelve,
		taskRescuing: s.rescued, taskUnrescuing: s.unrescued,
		taskSnapshot: s.snapshot, taskUploading: s.upload,
	}
}

// power returns the power state of a server in a state; the numbers are libvirt's.
func power(state string) int {
	switch state {
	case model.ServerActive, model.ServerResized, model.ServerRescued:
		return 1
	case model.ServerPaused:
		return 3
	case model.ServerStopped, model.ServerSuspended, model.ServerShelved, model.ServerOffloaded:
		return 4
	}
	return 0
}

func powerName(state int) string {
	switch state {
	case 1:
		return "running"
	case 3:
		return "paused"
	case 4:
		return "shutdown"
	}
	return "pending"
}
