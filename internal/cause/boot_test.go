package cause

import (
	"strings"
	"testing"
)

const preflight = `[18233.322531] cloud-init[197]: 	[WARNING SystemVerification]: cgroups v1 support is in maintenance mode
[18233.540771] cloud-init[197]: error execution phase preflight: [preflight] Some fatal errors occurred:
[18233.540893] cloud-init[197]: 	[ERROR Port-6443]: Port 6443 is in use
[18233.540927] cloud-init[197]: 	[ERROR ImagePull]: failed to pull image registry.k8s.io/pause:3.10
[18233.548474] cloud-init[197]: cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)
`

// noMetadata is what cloud-init says each time that it asks in vain.
const noMetadata = "[   6.2] cloud-init[512]: url_helper.py[WARNING]: Calling 'http://169.254.169.254/openstack' failed [0/-1s]: request error [refused]\n"

func TestBoot(t *testing.T) {
	t.Parallel()
	for console, want := range map[string]string{
		noMetadata: strings.Join(strings.Fields(noMetadata), " "),
		noMetadata + "[  14.2] cloud-init[512]: [preflight] Running pre-flight checks\n": "",
		noMetadata + preflight: "[ERROR Port-6443]: Port 6443 is in use; [ERROR ImagePull]: failed to pull image registry.k8s.io/pause:3.10",
		"[   5.0] cloud-init[512]: [preflight] of the boot before\n" + noMetadata: strings.Join(strings.Fields(noMetadata), " "),
		"":                         "",
		"[  OK  ] Reached target.": "",
		preflight:                  "[ERROR Port-6443]: Port 6443 is in use; [ERROR ImagePull]: failed to pull image registry.k8s.io/pause:3.10",
		"[1.2] cloud-init[9]: error execution phase kubelet-start: timed out\r\n": "error execution phase kubelet-start: timed out",
		"util.py: Failed to run module scripts-user (scripts in /x)\n":            "Failed to run module scripts-user (scripts in /x)",
		"[3.4] Kernel panic - not syncing: VFS: Unable to mount root fs\n":        "Kernel panic - not syncing: VFS: Unable to mount root fs",
	} {
		if reason, got := Boot(console); got != want || (reason == "") != (want == "") {
			t.Errorf("%q says %q, want %q", console, got, want)
		}
	}
}
