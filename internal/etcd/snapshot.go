package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/slipway-sh/slipway/internal/fault"
)

// ErrCorrupt is the problem of a member whose data differ from those of the others.
var ErrCorrupt = errors.New("its data are corrupt")

// Copier is what a snapshot is taken of.
type Copier interface {
	// Members reads all members and how they are.
	Members(ctx context.Context) ([]Member, error)
	// Snapshot writes the database of one member as of one moment, and returns its size
	// in bytes.
	Snapshot(ctx context.Context, m Member, to io.Writer) (int64, error)
}

// Copied is a snapshot that was taken.
type Copied struct {
	Member
	// Bytes is its size.
	Bytes int64 `json:"bytes"`
}

// Snapshot takes a snapshot of the leader: it has all that was agreed upon (row S-53). It
// refuses a cluster without a healthy leader that most members follow, and one with a
// member whose data are corrupt: nobody knows then whose are right.
func Snapshot(ctx context.Context, c Copier, to io.Writer) (Copied, error) {
	members, err := c.Members(ctx)
	if err != nil {
		return Copied{}, fmt.Errorf("listing the members of etcd: %w", err)
	}
	leader, err := leaderOf(members)
	if err != nil {
		return Copied{}, err
	}
	size, err := c.Snapshot(ctx, leader, to)
	if err != nil {
		return Copied{}, fault.New("etcd member "+leader.Name, fmt.Errorf("taking a snapshot: %w", err), "run the same command again")
	}
	return Copied{leader, size}, nil
}

// leaderOf is the leader of a cluster of which a snapshot may be taken.
func leaderOf(members []Member) (Member, error) {
	var leader Member
	voters, follow := 0, map[uint64]int{}
	for _, m := range members {
		if errors.Is(m.Problem, ErrCorrupt) {
			return leader, fault.New("etcd member "+cmp.Or(m.Name, fmt.Sprintf("%x", m.ID)), m.Problem, "replace this member; no snapshot is taken until then, as nobody knows whose data are right")
		}
		if m.Learner {
			continue
		}
		voters++
		if m.Problem == nil {
			follow[m.LeaderID]++
		}
		if m.Problem == nil && m.leads() {
			leader = m
		}
	}
	if leader.ID == 0 || follow[leader.ID]*2 <= voters {
		return leader, fault.New("etcd", fmt.Errorf("no healthy leader with most of its %d members", voters), "see how the members are with etcdctl endpoint health --cluster; if the quorum is lost, run slipway recover")
	}
	return leader, nil
}
