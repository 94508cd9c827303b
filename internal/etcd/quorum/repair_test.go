package quorum

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
)

func (n *node) repair() Repair {
	return Repair{Host: n, Root: n.root, Patience: time.Minute, Pause: 50 * time.Millisecond}
}

// alone checks that the node is a cluster of its own with a key, that takes writes.
func (n *node) alone(key, value string) {
	n.t.Helper()
	c := n.dial()
	members, err := c.MemberList(n.t.Context())
	if err != nil || len(members.Members) != 1 || members.Members[0].Name != n.name {
		n.t.Errorf("members %v, %v", members, err)
	}
	found, err := c.Get(n.t.Context(), key)
	if err != nil || len(found.Kvs) != 1 || string(found.Kvs[0].Value) != value {
		n.t.Errorf("%s: %v, %v", key, found, err)
	}
	n.put("after", "x")
	for _, gone := range []string{held, "/var/lib/etcd/" + newFolder, "/var/lib/etcd/" + snapshotFile} {
		if _, err := os.Stat(filepath.Join(n.root, gone)); !errors.Is(err, os.ErrNotExist) {
			n.t.Errorf("%s is left: %v", gone, err)
		}
	}
}

// TestTwoOfThreeLost: the third becomes a cluster of its own with all that was
// written, another joins it, and the data of before stay beside.
func TestTwoOfThreeLost(t *testing.T) {
	all := nodes(t, 3)
	n := all[0]
	revision := n.put("kept", "v")
	if _, err := n.repair().Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the quorum is not lost") || fault.Remedy(err) == "" {
		t.Fatalf("with a quorum: %v", err)
	}
	if _, err := os.Stat(filepath.Join(n.root, manifest)); err != nil {
		t.Fatalf("a refusal moved the manifest: %v", err)
	}
	all[1].lose()
	all[2].lose()
	result, err := n.repair().Run(t.Context())
	if err != nil || result.Member != "m0" || result.Resumed {
		t.Fatalf("%+v, %v", result, err)
	}
	n.alone("kept", "v")
	if now := n.put("more", "y"); now <= revision {
		t.Errorf("revision %d was %d", now, revision)
	}
	if _, err := os.Stat(filepath.Join(result.Before, memberFolder, "snap", "db")); err != nil {
		t.Errorf("the data of before: %v", err)
	}
	if _, err := n.dial().MemberAdd(t.Context(), []string{"http://127.0.0.1:1"}); err != nil {
		t.Errorf("another member: %v", err)
	}
}

// TestKilledAnywhere ends a repair before and after each program that it runs, and
// runs it again.
func TestKilledAnywhere(t *testing.T) {
	all := nodes(t, 3)
	n := all[0]
	n.put("kept", "v")
	all[1].lose()
	all[2].lose()
	errKilled, points := errors.New("killed"), 0
	for point := 1; ; point++ {
		// A cluster of one has a quorum: each round begins as if it had none.
		n.before = n.sick(nil)
		if point%2 == 0 {
			n.before = n.sick(func(k int, _ string) error { return map[bool]error{true: errKilled}[k == point] })
		} else {
			n.after = func(k int, _ string) error { return map[bool]error{true: errKilled}[k == point] }
		}
		n.calls, n.ran = 0, nil
		_, err := n.repair().Run(t.Context())
		done := n.calls < point
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatalf("point %d: %v\n%s", point, err, strings.Join(n.ran, "\n"))
		}
		n.before, n.after = n.sick(nil), nil
		// One that ended when the new data were in their place has nothing left to repair.
		if _, err := n.repair().Run(t.Context()); err != nil && !(n.started() && strings.Contains(err.Error(), "the quorum is not lost")) {
			t.Fatalf("after point %d: %v\n%s", point, err, strings.Join(n.ran, "\n"))
		}
		n.before = nil
		n.alone("kept", "v")
		if points = point; done || t.Failed() {
			break
		}
	}
	if points < 15 {
		t.Errorf("%d points", points)
	}
}

// sick has the question of admit answered with no; the others are asked of etcd.
func (n *node) sick(also func(int, string) error) func(int, string) error {
	return func(k int, program string) error {
		if _, err := os.Stat(filepath.Join(n.root, held)); program == "crictl" && strings.Contains(n.ran[len(n.ran)-1], "exec") && err != nil && !n.started() {
			return &remote.Failure{Program: program, Status: 1}
		}
		if also != nil {
			return also(k, program)
		}
		return nil
	}
}

// started reports whether this run has put the manifest back.
func (n *node) started() bool {
	return strings.Contains(strings.Join(n.ran, "\n"), "mv -T "+n.root+held)
}

// TestSnapshot: the machine's own data are damaged, and a snapshot takes their place.
// Revisions go on after all that anybody has seen.
func TestSnapshot(t *testing.T) {
	n := nodes(t, 1)[0]
	n.put("kept", "old")
	body, err := n.dial().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	last := n.put("kept", "new")
	n.lose()
	// What etcd wrote is no database any more.
	if err := os.WriteFile(filepath.Join(n.root, "var/lib/etcd/member/snap/db"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(single, "CLIENT", n.client)
	n.write(manifest, strings.ReplaceAll(text, "PEER", n.peer))
	r := n.repair()
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be read") || !strings.Contains(fault.Remedy(err), "--etcd-snapshot") {
		t.Fatalf("of damaged data: %v", err)
	}
	// A snapshot that was changed on its way is refused, and nothing is replaced.
	forged := bytes.Clone(snapshot)
	forged[len(forged)/2] ^= 1
	r.Snapshot = bytes.NewReader(forged)
	if _, err := r.Run(t.Context()); err == nil {
		t.Fatal("a forged snapshot was taken")
	}
	if text, err := os.ReadFile(filepath.Join(n.root, "var/lib/etcd/member/snap/db")); err != nil || string(text) != "damaged" {
		t.Errorf("a refused snapshot replaced the data: %q, %v", text, err)
	}
	r.Snapshot = bytes.NewReader(snapshot)
	result, err := r.Run(t.Context())
	if err != nil || !result.Resumed {
		t.Fatalf("%+v, %v", result, err)
	}
	n.alone("kept", "old")
	if now := n.put("more", "y"); now < last+1_000_000_000 {
		t.Errorf("revision %d was %d", now, last)
	}
}

const single = `apiVersion: v1
kind: Pod
spec:
  containers:
    - name: etcd
      image: registry.k8s.io/etcd:x
      command: [etcd, --name=m0, --data-dir=/var/lib/etcd, "--listen-client-urls=CLIENT", "--advertise-client-urls=CLIENT", "--listen-peer-urls=PEER", "--initial-advertise-peer-urls=PEER", --unsafe-no-fsync, --logger=zap, --log-level=error]
`

// TestWhatIsNoControlPlane: one clear cause each, and nothing is moved.
func TestWhatIsNoControlPlane(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no manifest":  {nil, "the machine has no static pod of etcd"},
		"two of them":  {map[string]string{manifest: single, held: single}, "somebody put it back"},
		"no pod":       {map[string]string{manifest: "x"}, "reading the manifest of etcd"},
		"no container": {map[string]string{manifest: "kind: Pod"}, "has 0 containers"},
		"no data":      {map[string]string{manifest: strings.Replace(single, "--data-dir=/var/lib/etcd, ", "", 1)}, "has no --data-dir"},
		"relative":     {map[string]string{manifest: strings.Replace(single, "=/var", "=var", 1)}, "relative --data-dir var/lib/etcd"},
	} {
		n := &node{t: t, root: t.TempDir()}
		for path, text := range test.files {
			n.write(path, text)
		}
		_, err := n.repair().Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		for _, one := range n.ran {
			if strings.HasPrefix(one, "mv") || strings.HasPrefix(one, "rm") {
				t.Errorf("%s: ran %s", name, one)
			}
		}
	}
}

// TestItEndsWithItsContext and with its patience, where the kubelet does nothing.
func TestItEndsWithItsContext(t *testing.T) {
	t.Parallel()
	n := &node{t: t, root: t.TempDir()}
	n.write(manifest, single)
	n.before = func(_ int, program string) error {
		if program == "crictl" && strings.Contains(n.ran[len(n.ran)-1], "exec") {
			return &remote.Failure{Program: program, Status: 1}
		}
		return nil
	}
	n.running = &exec.Cmd{}
	r := n.repair()
	r.Patience = 100 * time.Millisecond
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the kubelet has not stopped etcd") || fault.Remedy(err) == "" {
		t.Errorf("late: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.ErrInterrupted)
	if _, err := r.Run(ctx); err == nil {
		t.Error("it went on after its context")
	}
}
