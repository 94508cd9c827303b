package process

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestAliveKnowsTheDead, one that nobody has waited for, and one that came later.
func TestAliveKnowsTheDead(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = Bound(true)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if !Alive(pid, time.Now()) {
		t.Error("a process that runs is said to be dead")
	}
	if Alive(pid, time.Now().Add(-time.Hour)) {
		t.Error("a process is said to have been there an hour ago")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); Alive(pid, time.Now()) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if Alive(pid, time.Now()) {
		t.Error("a dead process that nobody waited for is said to run")
	}
	_ = cmd.Wait()
	if Alive(pid, time.Now()) {
		t.Error("a process that is gone is said to run")
	}
}

// TestASecretReachesAChild by its path, and by no other way.
func TestASecretReachesAChild(t *testing.T) {
	t.Parallel()
	file, path, err := Secret([]byte("word"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command("cat", path)
	cmd.ExtraFiles = []*os.File{file}
	if text, err := cmd.Output(); err != nil || string(text) != "word" {
		t.Errorf("%q, %v", text, err)
	}
	if self, err := Self(); err != nil || self == "" {
		t.Errorf("%q, %v", self, err)
	}
}
