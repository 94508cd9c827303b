package openstack

import (
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// TestNovasFaultHasARemedy: the words are those of Nova 31 when cinder-volume is stopped.
func TestNovasFaultHasARemedy(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"Build of instance w1 aborted: Unable to update the attachment. (HTTP 500)": "openstack volume service list",
		"No valid host was found. There are not enough hosts available.":            "choose a smaller flavor",
		"something that nobody knows":                                               "run the same command again",
	} {
		got := serverRemedy(fault)
		if !strings.HasPrefix(got, want) && !strings.Contains(got, "("+want) || strings.Contains(got, "Machine") || !strings.HasSuffix(got, "which creates the server again") {
			t.Errorf("%s: %s", fault, got)
		}
	}
}

func TestWhatNovaDoesIsTold(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]servers.Server{
		"server is BUILD (block_device_mapping: Cinder attaches its volumes)": {Status: "BUILD", TaskState: "block_device_mapping"},
		"server is ACTIVE (rebooting)":                                        {Status: "ACTIVE", TaskState: "rebooting"},
		"server is SHUTOFF":                                                   {Status: "SHUTOFF"},
	} {
		if got := describe(&s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
