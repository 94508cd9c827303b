package etcd

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
)

// TestThreeMembers are those of the bundle's etcd: all of them get smaller, the
// one that led is last and does not lead any more, and what is kept is there.
//
// proves: F105
func TestThreeMembers(t *testing.T) {
	endpoints, stop := startMembers(t, bundletest.Program(t, "etcd", "etcd"), 3)
	c, err := Dial(endpoints[1], nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	before := eventually(t, c)
	fill(t, c.api)
	results, err := Defragment(t.Context(), c, Options{})
	if err != nil || len(results) != 3 {
		t.Fatalf("%+v, %v", results, err)
	}
	for i, r := range results {
		if r.After >= r.Before || r.Leader != (i == 2) || (r.ID == before) != (i == 2) {
			t.Errorf("%d: %+v", i, r)
		}
	}
	members, err := healthy(t.Context(), c)
	if err != nil || members[0].LeaderID == before {
		t.Errorf("afterwards %+v, %v", members, err)
	}
	if kept, err := c.api.Get(t.Context(), "kept"); err != nil || len(kept.Kvs) != 1 {
		t.Errorf("kept: %v, %v", kept, err)
	}
	cleared(t, c, results[0].ID)
	stop(0)
	if results, err := Defragment(t.Context(), c, Options{}); err == nil || len(results) > 0 || !strings.Contains(err.Error(), "etcd member m0: ") {
		t.Errorf("with a member that is down: %+v, %v", results, err)
	}
}

// cleared checks that the alarm of a member that was full is, and that nothing is written before.
func cleared(t *testing.T, c *Client, id uint64) {
	t.Helper()
	raise := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: id, Alarm: etcdserverpb.AlarmType_NOSPACE}
	if _, err := etcdserverpb.NewMaintenanceClient(c.api.ActiveConnection()).Alarm(t.Context(), raise); err != nil {
		t.Fatal(err)
	}
	if _, err := c.api.Put(t.Context(), "full", "v"); err == nil {
		t.Error("a cluster with an alarm of space takes writes")
	}
	if _, err := Defragment(t.Context(), c, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.api.Put(t.Context(), "full", "v"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// fill writes some MiB and deletes them.
func fill(t *testing.T, api *clientv3.Client) {
	t.Helper()
	text := strings.Repeat("x", 100_000)
	for i := range 100 {
		if _, err := api.Put(t.Context(), fmt.Sprintf("gone/%d", i), text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.Put(t.Context(), "kept", "v"); err != nil {
		t.Fatal(err)
	}
	deleted, err := api.Delete(t.Context(), "gone/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Compact(t.Context(), deleted.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a leader and returns its ID.
func eventually(t *testing.T, c *Client) uint64 {
	t.Helper()
	members, err := await(t.Context(), c, Options{Patience: time.Minute, Pause: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return members[0].LeaderID
}

// startMembers runs etcd on loopback, without TLS, until the end of the test or
// until one is stopped.
func startMembers(t *testing.T, program string, count int) (endpoints []string, stop func(int)) {
	t.Helper()
	dir := t.TempDir()
	var peers, list []string
	for i := range count {
		endpoints, peers = append(endpoints, freeURL(t)), append(peers, freeURL(t))
		list = append(list, fmt.Sprintf("m%d=%s", i, peers[i]))
	}
	stops := make([]func(), count)
	for i := range count {
		ctx, cancel := context.WithCancel(context.Background())
		cmd := exec.CommandContext(ctx, program, "--name", fmt.Sprintf("m%d", i), "--data-dir", filepath.Join(dir, fmt.Sprint(i)), "--unsafe-no-fsync", "--logger=zap", "--log-level=error",
			"--listen-client-urls", endpoints[i], "--advertise-client-urls", endpoints[i], "--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i],
			"--initial-cluster", strings.Join(list, ","), "--election-timeout=5000", "--heartbeat-interval=500")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stops[i] = func() {
			cancel()
			cmd.Wait() //nolint:errcheck // it was killed
		}
		t.Cleanup(stops[i])
	}
	return endpoints, func(i int) { stops[i]() }
}

func freeURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}
