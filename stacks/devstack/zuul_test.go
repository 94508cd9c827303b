package devstack

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestTheZuulJobFitsThePlugin reads the sample: its variables are the plugin's, its
// playbooks exist, open the networks of the job and collect the log of every service.
//
// proves: D-27
func TestTheZuulJobFitsThePlugin(t *testing.T) {
	t.Parallel()
	const folder = "../../devstack/zuul/"
	text, err := os.ReadFile(folder + "jobs.yaml")
	must(t, err)
	var jobs []struct {
		Job struct {
			Parent  string
			PreRun  string `json:"pre-run"`
			PostRun string `json:"post-run"`
			Vars    struct {
				Plugins  map[string]string `json:"devstack_plugins"`
				Localrc  map[string]any    `json:"devstack_localrc"`
				Services map[string]bool   `json:"devstack_services"`
				Output   map[string]string `json:"zuul_copy_output"`
				Pods     string            `json:"slipway_pod_cidr"`
				Svcs     string            `json:"slipway_service_cidr"`
			}
		}
	}
	must(t, yaml.Unmarshal(text, &jobs))
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	job := jobs[0].Job
	settings, err := os.ReadFile("../../devstack/settings")
	must(t, err)
	given := map[string]string{"SLIPWAY_POD_CIDR": job.Vars.Pods, "SLIPWAY_SERVICE_CIDR": job.Vars.Svcs, "FIXED_RANGE": "10.1.0.0/20"}
	for name, value := range job.Vars.Localrc {
		if strings.HasPrefix(name, "SLIPWAY_") && !strings.Contains(string(settings), "\n"+name+"=") {
			t.Errorf("the plugin has no setting %s", name)
		}
		if s, ok := value.(string); ok && !strings.Contains(s, "{{") {
			given[name] = s
		}
	}
	if _, err := Read(variables(t, given)); err != nil {
		t.Errorf("the plugin refuses the settings of the job: %v", err)
	}
	if job.Vars.Plugins["slipway"] != "https://github.com/slipway-sh/slipway" || !job.Vars.Services["slipway"] || len(job.Vars.Localrc) == 0 || !strings.HasPrefix(job.Parent, "devstack") {
		t.Errorf("%+v", job)
	}
	read := func(name string) string {
		text, err := os.ReadFile("../../" + name)
		must(t, err)
		var plays []map[string]any
		must(t, yaml.Unmarshal(text, &plays))
		return string(text)
	}
	pre, post := read(job.PreRun), read(job.PostRun)
	for _, want := range []string{"ansible.builtin.iptables", "{{ slipway_pod_cidr }}", "{{ slipway_service_cidr }}", Tag} {
		if !strings.Contains(pre, want) {
			t.Errorf("the first playbook has no %s", want)
		}
	}
	for _, service := range Services() {
		if !strings.Contains(post, service) {
			t.Errorf("the log of %s is not collected", service)
		}
	}
	if job.Vars.Output["/opt/stack/logs/slipway"] == "" || !strings.Contains(post, "/opt/stack/logs/slipway") {
		t.Errorf("what is collected is not copied: %v", job.Vars.Output)
	}
}
