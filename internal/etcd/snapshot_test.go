package etcd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Snapshot implements Copier.
func (f *fake) Snapshot(_ context.Context, m Member, to io.Writer) (int64, error) {
	if m.Name == "stuck" {
		return 0, errors.New("connection lost")
	}
	f.did = append(f.did, m.Name)
	n, err := io.WriteString(to, "snapshot of "+m.Name)
	return int64(n), err
}

// TestOnlyTheLeaderIsCopied, while most members follow it and none is corrupt.
//
// proves: S-53
func TestOnlyTheLeaderIsCopied(t *testing.T) {
	t.Parallel()
	with := func(f *fake, problems ...error) *fake {
		for i, err := range problems {
			f.members[i].Problem = err
		}
		return f
	}
	ill := errors.New("it is ill")
	for name, test := range map[string]struct {
		f         *fake
		did, want string
	}{
		"three":                 {newFake(3, 2), "m2", ""},
		"one":                   {newFake(1, 1), "m1", ""},
		"a follower is ill":     {with(newFake(3, 2), ill), "m2", ""},
		"the leader is ill":     {with(newFake(3, 1), ill), "", "no healthy leader"},
		"two are ill":           {with(newFake(3, 3), ill, ill), "", "most of its 3 members"},
		"a follower is corrupt": {with(newFake(3, 2), ErrCorrupt), "", "member m1: its data are corrupt"},
		"no leader":             {newFake(3, 0), "", "no healthy leader"},
		"no members":            {newFake(0, 0), "", "no healthy leader"},
		"no answer":             {&fake{err: errors.New("refused")}, "", "refused"},
		"a learner is no vote":  {&fake{leader: 1, members: []Member{{ID: 1, Name: "m1"}, {ID: 2, Name: "m2", Learner: true, Problem: ill}}}, "m1", ""},
		"stuck":                 {&fake{leader: 1, members: []Member{{ID: 1, Name: "stuck"}}}, "", "member stuck: taking a snapshot: connection lost"},
	} {
		var to bytes.Buffer
		copied, err := Snapshot(t.Context(), test.f, &to)
		if got := strings.Join(test.f.did, " "); got != test.did {
			t.Errorf("%s: copied %q, want %q", name, got, test.did)
		}
		if test.want == "" && (err != nil || copied.Name != test.did || copied.Bytes != int64(to.Len()) || to.Len() == 0) ||
			test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %+v, %v", name, copied, err)
		}
		if err != nil && test.f.err == nil && fault.Remedy(err) == "" {
			t.Errorf("%s: no remedy", name)
		}
	}
}

// TestSnapshotOfThree real members is of the one that leads, and a cluster that lost its
// quorum gives none.
//
// proves: S-53
func TestSnapshotOfThree(t *testing.T) {
	endpoints, stop := startMembers(t, bundletest.Program(t, "etcd", "etcd"), 3)
	c, err := Dial(endpoints[0], nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	leader := eventually(t, c)
	if _, err := c.api.Put(t.Context(), "kept", strings.Repeat("v", 100_000)); err != nil {
		t.Fatal(err)
	}
	var to bytes.Buffer
	copied, err := Snapshot(t.Context(), c, &to)
	if err != nil || copied.ID != leader || copied.Bytes != int64(to.Len()) || to.Len() < 100_000 || to.Len()%512 != 32 {
		t.Fatalf("%+v, %d bytes, %v", copied, to.Len(), err)
	}
	stop(1)
	stop(2)
	if _, err := Snapshot(t.Context(), c, &to); err == nil {
		t.Error("a snapshot without a quorum")
	}
}
