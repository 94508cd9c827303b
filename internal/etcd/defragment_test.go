package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake is an etcd whose members are numbered from 1.
type fake struct {
	leader  uint64
	members []Member
	// did are the calls that change something.
	did []string
	// after is what happens once a member was defragmented.
	after func(f *fake, m Member)
	// cleared is how often alarms of space were.
	cleared int
	err     error
}

func newFake(count int, leader uint64) *fake {
	f := &fake{leader: leader}
	for id := uint64(1); id <= uint64(count); id++ {
		f.members = append(f.members, Member{ID: id, Name: fmt.Sprintf("m%d", id), Size: 100})
	}
	return f
}

func (f *fake) Members(context.Context) ([]Member, error) {
	all := slices.Clone(f.members)
	for i := range all {
		all[i].LeaderID = f.leader
	}
	return all, f.err
}

func (f *fake) Defragment(_ context.Context, m Member) error {
	f.did = append(f.did, m.Name)
	i := slices.IndexFunc(f.members, func(other Member) bool { return other.ID == m.ID })
	if f.members[i].Name == "stuck" {
		return errors.New("deadline exceeded")
	}
	f.members[i].Size = 40
	if f.after != nil {
		f.after(f, m)
	}
	return nil
}

func (f *fake) MoveLeader(_ context.Context, from, to Member) error {
	f.did = append(f.did, from.Name+">"+to.Name)
	f.leader = to.ID
	return nil
}

func (f *fake) ClearSpaceAlarms(context.Context) error {
	f.cleared++
	return nil
}

// TestTheLeaderIsLast, whoever leads at the end, and only while all are healthy. A cluster that
// was full takes writes again once all are done, and not before.
//
// proves: F105
func TestTheLeaderIsLast(t *testing.T) {
	t.Parallel()
	ill := func(name string) func(*fake, Member) {
		return func(f *fake, m Member) {
			if m.Name == name {
				f.members[0].Problem = errors.New("it is ill")
			}
		}
	}
	for name, test := range map[string]struct {
		f         *fake
		did, want string
	}{
		"three":         {newFake(3, 2), "m1 m3 m2>m1 m2", ""},
		"first by name": {newFake(3, 1), "m2 m3 m1>m2 m1", ""},
		"one":           {newFake(1, 1), "m1", ""},
		"the lead moves on": {&fake{leader: 3, members: newFake(3, 3).members, after: func(f *fake, m Member) {
			f.leader = map[string]uint64{"m1": 2}[m.Name] + f.leader*map[string]uint64{"m2": 1, "m3": 1}[m.Name]
		}}, "m1 m3 m2>m1 m2", ""},
		"learner":             {&fake{leader: 2, members: []Member{{ID: 1, Name: "m1", Learner: true}, {ID: 2, Name: "m2"}}}, "m1 m2", ""},
		"ill before":          {&fake{leader: 1, members: []Member{{ID: 1, Name: "m1"}, {ID: 2, Name: "m2", Problem: errors.New("it has not started")}}}, "", "etcd member m2: it has not started"},
		"no leader":           {newFake(3, 0), "", "it has no leader"},
		"no members":          {newFake(0, 0), "", "etcd has no members"},
		"no answer":           {&fake{err: errors.New("refused")}, "", "listing the members of etcd: refused"},
		"ill after the first": {&fake{leader: 3, members: newFake(3, 3).members, after: ill("m1")}, "m1", "etcd member m1: it is ill"},
		"stuck":               {&fake{leader: 2, members: []Member{{ID: 1, Name: "stuck"}, {ID: 2, Name: "m2"}}}, "stuck", "etcd member stuck: defragmenting: deadline exceeded"},
	} {
		results, err := Defragment(t.Context(), test.f, Options{Patience: 20 * time.Millisecond, Pause: time.Millisecond})
		if got := strings.Join(test.f.did, " "); got != test.did {
			t.Errorf("%s: did %q, want %q", name, got, test.did)
		}
		if test.want == "" && (err != nil || len(results) != len(test.f.members) || results[0].After != 40) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %+v, %v", name, results, err)
		}
		if want := map[bool]int{true: 1}[test.want == ""]; test.f.cleared != want {
			t.Errorf("%s: alarms were cleared %d times", name, test.f.cleared)
		}
	}
}

// TestItWaitsForTheMember that was defragmented, before the next one.
func TestItWaitsForTheMember(t *testing.T) {
	t.Parallel()
	f := newFake(3, 3)
	looks := 0
	ill := &waking{fake: f, looks: &looks}
	f.after = func(*fake, Member) { looks = 0 }
	if _, err := Defragment(t.Context(), ill, Options{Pause: time.Millisecond}); err != nil || len(f.did) != 4 {
		t.Errorf("did %q, %v", f.did, err)
	}
}

// waking is healthy at the third look only.
type waking struct {
	*fake
	looks *int
}

func (w *waking) Members(ctx context.Context) ([]Member, error) {
	members, err := w.fake.Members(ctx)
	if *w.looks++; *w.looks < 3 && len(w.did) > 0 {
		members[0].Problem = errors.New("it starts")
	}
	return members, err
}

// TestTwoLeaders is a cluster that fell apart: nothing is touched.
func TestTwoLeaders(t *testing.T) {
	t.Parallel()
	f := &apart{newFake(3, 1)}
	if _, err := Defragment(t.Context(), f, Options{}); err == nil || !strings.Contains(err.Error(), "another leader than m1") || len(f.did) > 0 {
		t.Errorf("did %q, %v", f.did, err)
	}
}

type apart struct{ *fake }

func (a *apart) Members(ctx context.Context) ([]Member, error) {
	members, err := a.fake.Members(ctx)
	members[2].LeaderID = 3
	return members, err
}
