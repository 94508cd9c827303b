package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// operations are what an operator does on an ordinary day: a check of the cluster, a look at
// its certificates and at what clusters left, and kubectl through the seed.
func (p *project) operations() {
	p.t.Helper()
	p.quickCheck()
	p.certificates()
	if out := p.do("sweep"); !strings.Contains(out, "nothing is left of clusters that are gone") {
		p.t.Errorf("swept:\n%s", out)
	}
	p.tunnel()
}

// quickCheck passes each step in under three minutes and leaves nothing.
func (p *project) quickCheck() {
	p.t.Helper()
	var result struct {
		Passed  bool
		Seconds float64
		Steps   []struct{ Name, State, Detail string }
	}
	if err := json.Unmarshal([]byte(p.do("check", "quick", "-o", "json", "--junit", "check.xml")), &result); err != nil {
		p.t.Fatal(err)
	}
	if !result.Passed || result.Seconds > (3*time.Minute).Seconds() || len(result.Steps) != 11 {
		p.t.Errorf("the check: %+v", result)
	}
	for _, s := range result.Steps {
		if s.State != "passed" {
			p.t.Errorf("step %s %s: %s", s.Name, s.State, s.Detail)
		}
	}
	if text, err := os.ReadFile(filepath.Join(p.folder, "check.xml")); err != nil || !strings.Contains(string(text), `tests="11" failures="0"`) {
		p.t.Errorf("JUnit: %v\n%s", err, text)
	}
	if out, err := p.on("", "get", "namespaces,persistentvolumes", "-A"); err != nil || strings.Contains(out, "slipway-check") {
		p.t.Errorf("left by the check: %v\n%s", err, out)
	}
}

// certificates are those of the seed, of three machines, of kubeconfigs and of what serves.
func (p *project) certificates() {
	p.t.Helper()
	var listing struct {
		Certificates []struct {
			Cluster, Use, Object, RenewedBy string
			Ends                            time.Time
		}
		Unseen []any
	}
	if err := json.Unmarshal([]byte(p.do("certs", "-o", "json")), &listing); err != nil {
		p.t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range listing.Certificates {
		count[c.Cluster+" "+c.Use+" "+c.RenewedBy]++
		if time.Until(c.Ends) < 21*24*time.Hour {
			p.t.Errorf("%s ends at %s", c.Object, c.Ends)
		}
	}
	for _, want := range []string{"demo control plane machine rollout", "demo kubeconfig cluster-api", "demo API server, as served rollout", "seed k3s k3s", "seed authority nobody", "seed serving cert-manager", "demo serving cert-manager"} {
		if count[want] == 0 {
			p.t.Errorf("there is no %s among %v", want, count)
		}
	}
	if count["demo control plane machine rollout"] != 3 || len(listing.Unseen) > 0 {
		p.t.Errorf("certificates %v, unseen %v", count, listing.Unseen)
	}
}

// tunnel uses kubectl through the seed, until the command is interrupted.
func (p *project) tunnel() {
	p.t.Helper()
	cmd := p.command("kubeconfig", "--tunnel")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	path := strings.TrimSpace(strings.TrimPrefix(line, "export KUBECONFIG="))
	kubectl := exec.CommandContext(p.t.Context(), filepath.Join(bundleDir(p.t), "bin", "kubectl"), "--kubeconfig", path, "get", "nodes", "--no-headers")
	nodes, failed := kubectl.CombinedOutput()
	if err != nil || failed != nil || strings.Count(string(nodes), " Ready ") != 4 {
		p.t.Errorf("through the seed: %q, %v, %v\n%s", line, err, failed, nodes)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		p.t.Errorf("the tunnel ended with %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		p.t.Error("the kubeconfig of the tunnel is left")
	}
}
