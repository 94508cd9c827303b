package seed

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// volumeTools stand in for the programs that the script calls. Each notes that it was
// called; a file system that is mounted does not grow.
const volumeTools = `#!/bin/sh
name=${0##*/}
echo "$name $*" >>"$DIR/calls"
case $name in
blkid) case "$*" in *TYPE*) echo ext4 ;; *) echo slipway-data ;; esac ;;
mountpoint) [ -e "$DIR/mounted" ] ;;
mount) touch "$DIR/mounted" ;;
umount) rm "$DIR/mounted" ;;
resize2fs)
	[ ! -e "$DIR/grown" ] || exit 0
	sleep 0.2
	[ ! -e "$DIR/mounted" ] || exit 1
	touch "$DIR/grown"
	;;
systemctl) cat "$DIR/k3s" ;;
esac
`

// volumeScript is the script on directories of the test.
func volumeScript(t *testing.T, k3s string) (run func() int, calls func() string) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile("files/slipway-data-volume")
	if err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer("/dev/disk/by-id", dir, "/run/", dir+"/", "/etc/rancher", dir+"/etc", "target=/var/lib/rancher/k3s", "target="+dir+"/k3s-data",
		`[ -b "$link" ]`, `[ -e "$link" ]`).Replace(string(text))
	// Written by another process: what this one has open for writing, a child that another
	// test starts at that moment has open too, and then it cannot run ("text file busy",
	// golang/go#22315).
	write := func(name, text string) {
		cmd := exec.CommandContext(t.Context(), "install", "-m", "0700", "/dev/stdin", filepath.Join(dir, name))
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write("script", script)
	write("k3s", k3s+"\n")
	write("virtio-0123", "")
	for name := range strings.FieldsSeq("blkid mountpoint mount umount resize2fs e2fsck systemctl") {
		write(name, volumeTools)
	}
	run = func() int {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sh", filepath.Join(dir, "script"), "0123")
		cmd.Env = []string{"DIR=" + dir, "PATH=" + dir + ":/usr/bin:/bin"}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 75 {
			t.Errorf("the script: exit status %d\n%s", code, out)
		}
		return cmd.ProcessState.ExitCode()
	}
	calls = func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "calls"))
		return string(text)
	}
	return run, calls
}

// A file system that grows only unmounted is unmounted before k3s starts, never beneath
// one that starts or runs: k3s would begin an empty cluster on the root disk.
func TestTheDataVolumeIsNotUnmountedBeneathK3s(t *testing.T) {
	t.Parallel()
	for state, unmounts := range map[string]bool{"inactive": true, "failed": true, "activating": false, "active": false, "deactivating": false} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			run, calls := volumeScript(t, state)
			code := run()
			if got := strings.Contains(calls(), "umount"); got != unmounts || (code == 0) != unmounts {
				t.Errorf("exit status %d, calls:\n%s", code, calls())
			}
		})
	}
}

// At boot the unit mounts and grows the volume while slipway asks for the same over SSH:
// the second must find the work done.
func TestTheDataVolumeIsSettledOnceAtATime(t *testing.T) {
	t.Parallel()
	run, calls := volumeScript(t, "inactive")
	codes := make(chan int, 2)
	for range 2 {
		go func() { codes <- run() }()
	}
	if a, b := <-codes, <-codes; a != 0 || b != 0 || strings.Count(calls(), "umount") != 1 {
		t.Errorf("exit status %d and %d, calls:\n%s", a, b, calls())
	}
}
