package e2e

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// labFlags are those of the operator's cluster with one worker.
func labFlags(wait string) []string {
	return []string{"cluster", "create", "lab", "--wait", wait,
		"--set", "controlPlane.machineCount=1", "--set", "nodeGroups[0].name=md-0,nodeGroups[0].machineCount=1"}
}

// rotateLab replaces both credentials of the operator's cluster while Cluster API makes a
// worker with them. Others are the application credentials that are not the cluster's. What
// is on the cluster then is new, and creates nothing in the project.
func (p *project) rotateLab(others []string) {
	p.t.Helper()
	own := func() []string {
		return slices.DeleteFunc(p.credentialIDs(), func(id string) bool { return slices.Contains(others, id) })
	}
	former, start := own(), time.Now()
	p.do(labFlags("none")...)
	var made struct {
		Credential, CloudProvider string
		Restarted, Revoked, Notes []string
	}
	out := p.do("cluster", "rotate-credential", "lab", "--overlap", "10s", "-o", "json")
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		p.t.Fatal(err)
	}
	p.do(labFlags("ready")...)
	now, wanted := own(), []string{made.Credential, made.CloudProvider}
	slices.Sort(wanted)
	if len(former) != 2 || !slices.Equal(now, wanted) || len(made.Revoked) != 2 || len(made.Restarted) == 0 || len(made.Notes) > 0 {
		p.t.Errorf("credentials were %q, are %q: %s", former, now, out)
	}
	for _, id := range former {
		if slices.Contains(now, id) {
			p.t.Errorf("the former credential %s is still there", id)
		}
	}
	said, err := p.on("", "-n", "capo-system", "logs", "deployment/capo-controller-manager", "--since-time", start.Format(time.RFC3339))
	if err != nil || strings.Contains(said, "but got 401") || strings.Contains(said, "but got 403") || strings.Contains(said, "Authentication failed") {
		p.t.Errorf("Cluster API was refused: %v\n%s", err, said)
	}
	p.expectHarmless(made.CloudProvider)
}

// expectHarmless uses the credential that is on the operator's cluster: it reads servers
// and creates no network.
func (p *project) expectHarmless(id string) {
	p.t.Helper()
	encoded, err := p.by(filepath.Join("clusters", "lab.kubeconfig"), "", "get", "secrets", "--all-namespaces", "-o",
		`jsonpath={range .items[?(@.metadata.name=="cloud-config")]}{.data.clouds\.yaml}{end}`)
	if err != nil {
		p.t.Fatalf("reading the cluster's credential: %v\n%s", err, encoded)
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !strings.Contains(string(text), id) {
		p.t.Fatalf("the cluster has another credential than %s: %v", id, err)
	}
	file := filepath.Join(p.t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	as := func(args ...string) (string, error) {
		cmd := exec.CommandContext(p.t.Context(), "openstack", append([]string{"--os-cloud", "openstack"}, args...)...)
		cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+file, "PYTHONWARNINGS=ignore")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := as("server", "list"); err != nil || !strings.Contains(out, "lab-") {
		p.t.Errorf("the credential on the cluster does not read servers: %v\n%s", err, out)
	}
	if out, err := as("network", "create", "theirs"); err == nil {
		p.t.Errorf("the credential on the cluster creates networks:\n%s", out)
	}
}
