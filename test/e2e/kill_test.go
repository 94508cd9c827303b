package e2e

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"strings"
	"time"
)

// killAt kills a command, and fails the test if it ended before a line of its progress was
// the one to kill it at.
func (p *project) killAt(at func(line string) bool, args ...string) {
	p.t.Helper()
	cmd := p.command(append(args, "--progress", "json")...)
	progress, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer killed(cmd)
	end := time.AfterFunc(15*time.Minute, func() { _ = cmd.Process.Kill() })
	defer end.Stop()
	var said strings.Builder
	lines := bufio.NewScanner(progress)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if at(lines.Text()) {
			return
		}
	}
	text := said.String()
	p.t.Errorf("%q ended before it was killed:\n%s", args, text[max(0, len(text)-6000):])
}

// saying is a line with these words.
func saying(words string) func(string) bool {
	return func(line string) bool { return strings.Contains(line, words) }
}

// inStep is a moment after a step began.
func inStep(step string) func(string) bool {
	return func(line string) bool {
		var event struct{ Step string }
		if json.Unmarshal([]byte(line), &event) != nil || event.Step != step {
			return false
		}
		time.Sleep(time.Second)
		return true
	}
}

// killWhen kills a command once there is a server whose name begins so.
func (p *project) killWhen(server string, args ...string) {
	p.t.Helper()
	cmd := p.command(append(args, "--progress", "plain")...)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	defer killed(cmd)
	eventually(p.t, 10*time.Minute, func() (string, bool) {
		list := p.openstack("server", "list", "-f", "value", "-c", "Name")
		return list, strings.Contains("\n"+list, "\n"+server)
	})
}

func killed(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
