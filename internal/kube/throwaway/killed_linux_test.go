package throwaway

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// standIn says what this program is in TestAServerEndsWithWhoStartedIt, and standInFile which file
// the server holds a lock on.
const standIn, standInFile = "THROWAWAY_STANDIN", "THROWAWAY_LOCK"

// TestAServerEndsWithWhoStartedIt, also when that is killed, and the server executed itself anew
// from another thread, as k3s does.
func TestAServerEndsWithWhoStartedIt(t *testing.T) {
	t.Parallel()
	if !ownEtc(t, "plain") {
		t.Skip("mounts are not permitted here")
	}
	file := filepath.Join(t.TempDir(), "lock")
	lock, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	starter := exec.Command("/proc/self/exe", "-test.run=^TestStandIn$")
	starter.Env = append(os.Environ(), standIn+"=starter", standInFile+"="+file)
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = starter.Process.Kill() })
	await := func(what string, held bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
			if err == nil {
				_ = unix.Flock(int(lock.Fd()), unix.LOCK_UN)
			}
			if held == (err != nil) {
				return
			}
		}
		t.Fatalf("%s: the lock is held: %t", what, !held)
	}
	await("the server runs", true)
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait()
	await("who started it is killed", false)
}

// TestStandIn is who starts the server, and the server.
func TestStandIn(t *testing.T) {
	switch file := os.Getenv(standInFile); os.Getenv(standIn) {
	case "starter":
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		command, err := withOwnEtc(self, filepath.Dir(file), []string{"-test.run=^TestStandIn$"})
		if err != nil {
			t.Fatal(err)
		}
		command.Env = append(os.Environ(), standIn+"=server")
		t.Fatal(command.Run())
	case "server":
		t.Setenv(standIn, "again")
		t.Fatal(<-again(os.Environ()))
	case "again":
		lock, err := os.Open(file)
		if err == nil {
			err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
	}
}

// again executes this program anew from another thread than the first, and returns the error.
func again(environ []string) chan error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			failed <- <-again(environ) // this goroutine keeps the first thread
			return
		}
		failed <- syscall.Exec("/proc/self/exe", os.Args, environ)
	}()
	return failed
}
