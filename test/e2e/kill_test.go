package e2e

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
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

// killInEachStep runs a command again and again, and kills each run in a step that no run
// before was killed in, up to two seconds after it began. It returns what the run that was
// left alone printed, and the steps. Each run has to get as far as those before it.
func (p *project) killInEachStep(args ...string) (out string, steps []string) {
	p.t.Helper()
	killedIn := map[string]bool{}
	for {
		step, out := p.killInNewStep(killedIn, args...)
		if step == "" {
			return out, steps
		}
		killedIn[step], steps = true, append(steps, step)
		if len(steps) > 100 {
			p.t.Fatalf("%q has no end: killed in %q", args, steps)
		}
	}
}

// killInNewStep kills a command in its first step that is not among those given. Without such a
// step it has to end well, and what it printed is returned.
func (p *project) killInNewStep(known map[string]bool, args ...string) (step, out string) {
	p.t.Helper()
	cmd := p.command(append(args, "--progress", "json")...)
	var printed, said strings.Builder
	cmd.Stdout = &printed
	progress, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer killed(cmd)
	end := time.AfterFunc(20*time.Minute, func() { _ = cmd.Process.Kill() })
	defer end.Stop()
	lines := bufio.NewScanner(progress)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		var e event.Event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.State == event.Started && !known[e.Step] {
			time.Sleep(rand.N(2 * time.Second))
			return e.Step, ""
		}
	}
	if err := cmd.Wait(); err != nil {
		text := said.String()
		p.t.Fatalf("%q after %d kills: %v\n%s\n%s", args, len(known), err, printed.String(), text[max(0, len(text)-6000):])
	}
	return "", printed.String()
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
