// Package etcd maintains the etcd of a control plane.
package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Member is a member of an etcd cluster.
type Member struct {
	ID uint64 `json:"-"`
	// Name is the node's; empty for a member that was added and never started.
	Name string `json:"member"`
	// Endpoint is the first of its client URLs.
	Endpoint string `json:"endpoint"`
	// LeaderID is which member this one follows; 0 is none.
	LeaderID uint64 `json:"-"`
	// Learner members have no vote.
	Learner bool `json:"-"`
	// Size is the database file's in bytes, InUse what of it holds keys.
	Size  int64 `json:"-"`
	InUse int64 `json:"-"`
	// Problem says why the member is not healthy; nil if it is.
	Problem error `json:"-"`
}

func (m Member) leads() bool { return m.ID == m.LeaderID }

// Cluster is what is asked of etcd.
type Cluster interface {
	// Members reads all members and how they are.
	Members(ctx context.Context) ([]Member, error)
	// Defragment frees the space of deleted keys of one member, which answers
	// nobody meanwhile.
	Defragment(ctx context.Context, m Member) error
	// MoveLeader has another member lead.
	MoveLeader(ctx context.Context, from, to Member) error
	// ClearSpaceAlarms ends the alarms by which a cluster that was full takes no
	// writes. etcd raises them again if it still is.
	ClearSpaceAlarms(ctx context.Context) error
}

// Result is what a member won.
type Result struct {
	Member
	// Leader says that the member led until it was the last one left.
	Leader bool `json:"leader"`
	// Before and After are the sizes of the database file in bytes.
	Before int64 `json:"beforeBytes"`
	After  int64 `json:"afterBytes"`
}

// Options of Defragment; the zero value is for a cluster of kubeadm's.
type Options struct {
	// Patience is how long members may take to be healthy again after one of
	// them was defragmented. 0: 1 min.
	Patience time.Duration
	// Pause is between two looks at members that are not. 0: 1 s.
	Pause time.Duration
}

// Defragment defragments all members one after the other, the leader last, after
// it gave the lead to one that is done (rows F105 and S-53). Nothing is begun
// unless every member is healthy and follows the same leader; before each further
// one that must be so again. Alarms of space are cleared when all are done. Results
// are of the members that are done, also with an error.
func Defragment(ctx context.Context, c Cluster, o Options) ([]Result, error) {
	o.Patience, o.Pause = cmp.Or(o.Patience, time.Minute), cmp.Or(o.Pause, time.Second)
	var results []Result
	members, err := healthy(ctx, c)
	for err == nil {
		m, found := next(members, results)
		if !found {
			if err := c.ClearSpaceAlarms(ctx); err != nil {
				return results, fmt.Errorf("clearing the alarms of space: %w", err)
			}
			return results, nil
		}
		var result Result
		if result, err = defragment(ctx, c, m, members, results); err == nil {
			if members, err = await(ctx, c, o); err == nil {
				result.After = sizeOf(members, m.ID)
				results = append(results, result)
			}
		}
	}
	return results, err
}

// next is the first member by name that is not done; the leader is last.
func next(members []Member, done []Result) (Member, bool) {
	left := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return isDone(done, m) })
	if len(left) == 0 {
		return Member{}, false
	}
	last := func(m Member) int { return map[bool]int{true: 1}[m.leads()] }
	return slices.MinFunc(left, func(a, b Member) int { return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a.Name, b.Name)) }), true
}

func isDone(done []Result, m Member) bool {
	return slices.ContainsFunc(done, func(r Result) bool { return r.ID == m.ID })
}

func defragment(ctx context.Context, c Cluster, m Member, members []Member, done []Result) (Result, error) {
	result := Result{Member: m, Leader: m.leads(), Before: m.Size}
	if m.leads() {
		heir := slices.IndexFunc(members, func(other Member) bool { return !other.Learner && isDone(done, other) })
		if heir >= 0 { // a cluster of one has nobody else
			if err := c.MoveLeader(ctx, m, members[heir]); err != nil {
				return result, trouble(m, fmt.Errorf("giving the lead to %s: %w", members[heir].Name, err))
			}
		}
	}
	if err := c.Defragment(ctx, m); err != nil {
		return result, trouble(m, fmt.Errorf("defragmenting: %w", err))
	}
	return result, nil
}

// await is healthy with patience: a member that was defragmented needs a moment.
func await(ctx context.Context, c Cluster, o Options) ([]Member, error) {
	deadline := time.Now().Add(o.Patience)
	for {
		members, err := healthy(ctx, c)
		if err == nil || time.Now().After(deadline) {
			return members, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), err)
		case <-time.After(o.Pause):
		}
	}
}

// healthy are the members, if all are well and agree on who leads.
func healthy(ctx context.Context, c Cluster) ([]Member, error) {
	members, err := c.Members(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the members of etcd: %w", err)
	}
	if len(members) == 0 {
		return nil, errors.New("etcd has no members")
	}
	for _, m := range members {
		switch {
		case m.Problem != nil:
			return nil, trouble(m, m.Problem)
		case m.LeaderID == 0:
			return nil, trouble(m, errors.New("it has no leader"))
		case m.LeaderID != members[0].LeaderID:
			return nil, trouble(m, fmt.Errorf("it follows another leader than %s", members[0].Name))
		}
	}
	return members, nil
}

func sizeOf(members []Member, id uint64) int64 {
	for _, m := range members {
		if m.ID == id {
			return m.Size
		}
	}
	return 0
}

func trouble(m Member, err error) error {
	return fault.New("etcd member "+cmp.Or(m.Name, fmt.Sprintf("%x", m.ID)), err, "make all members healthy (etcdctl endpoint health --cluster); no other member is touched until then")
}
