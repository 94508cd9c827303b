package kubernetes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/clusterapi"
)

const preflight = `[18233.322531] cloud-init[197]: 	[WARNING SystemVerification]: cgroups v1 support is in maintenance mode
[18233.540771] cloud-init[197]: error execution phase preflight: [preflight] Some fatal errors occurred:
[18233.540893] cloud-init[197]: 	[ERROR Port-6443]: Port 6443 is in use
[18233.540927] cloud-init[197]: 	[ERROR ImagePull]: failed to pull image registry.k8s.io/pause:3.10
[18233.548474] cloud-init[197]: cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)
`

// A machine whose kubeadm gave up is told with its words, in progress and at the
// end; machines that are nodes are not asked.
func TestConsolesAreTold(t *testing.T) {
	t.Parallel()
	var told, asked []string
	l := &listener{tell: func(text string) { told = append(told, text) }, console: func(_ context.Context, id string) string {
		asked = append(asked, id)
		return map[string]string{"broken": preflight}[id]
	}}
	machine := func(name, server string, ready bool) clusterapi.Part {
		return clusterapi.Part{Kind: "Machine", Name: name, Level: 2, Server: server, Ready: ready, State: "Provisioned"}
	}
	l.hear(clusterapi.Report{Exists: true, Parts: []clusterapi.Part{machine("a", "node", true), machine("b", "boots", false), machine("c", "broken", false), machine("d", "", false)}})
	l.look(t.Context())
	l.look(t.Context())
	if !slices.Equal(asked, []string{"boots", "broken", "boots", "broken"}) {
		t.Errorf("asked for the consoles of %v", asked)
	}
	if len(told) != 2 || strings.Contains(told[0], "console") || !strings.Contains(told[1], "the console of c says: [ERROR Port-6443]") {
		t.Errorf("told %q", told)
	}
	late := errors.New("it is not ready after 1h")
	if err := l.explain(late); !errors.Is(err, late) || !strings.Contains(err.Error(), "Port 6443 is in use") {
		t.Errorf("ended with %v", err)
	}
	l.hear(clusterapi.Report{Exists: true, Parts: []clusterapi.Part{machine("c", "broken", true)}})
	l.look(t.Context())
	if err := l.explain(late); !errors.Is(err, late) || strings.Contains(err.Error(), "console") {
		t.Errorf("ended with %v", err)
	}
}
