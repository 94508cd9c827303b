package quorum

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// The folders beside etcd's own, member, in its data folder: that may be a volume of
// its own, and a rename does not leave a file system.
const (
	memberFolder = "member"
	newFolder    = "slipway-new"
	beforeFolder = "slipway-before-"
	snapshotFile = "slipway-snapshot.db"
)

// imageFolder is where the image of etcd is mounted while its etcdutl, a static program, is
// run: that needs no container, whose settings differ from node to node.
const imageFolder = "/var/lib/slipway-etcd-image"

// replace puts data of a cluster of one in the place of the member's, which stay in the
// folder that it returns. etcd does not run meanwhile.
//
//	member                     before anything
//	member, slipway-new        after etcdutl
//	slipway-new, slipway-before-N    between two renames
//	member, slipway-before-N   done
func (r Repair) replace(ctx context.Context, m Member) (before string, err error) {
	// When the manifest was moved tells one repair from the next on the same machine.
	moved, err := r.Host.Run(ctx, "stat", "--format=%.9Z", r.at(held))
	if err != nil {
		return "", fmt.Errorf("looking at %s: %w", held, err)
	}
	data := r.at(m.DataDir)
	before = path.Join(data, beforeFolder+strings.TrimSpace(moved))
	isMoved, err := r.there(ctx, path.Join(before, memberFolder))
	if err != nil {
		return before, err
	}
	isThere, err := r.there(ctx, path.Join(data, memberFolder))
	if err != nil {
		return before, err
	}
	if isMoved && isThere {
		return before, r.clear(ctx, data)
	}
	source := path.Join(data, memberFolder)
	if isMoved {
		source = path.Join(before, memberFolder)
	}
	if err := r.renew(ctx, m, data, path.Join(source, "snap", "db")); err != nil {
		return before, err
	}
	if !isMoved {
		if err := r.run(ctx, "mkdir", "-p", "-m", "0700", before); err != nil {
			return before, err
		}
		if err := r.run(ctx, "mv", "-T", source, path.Join(before, memberFolder)); err != nil {
			return before, err
		}
	}
	if err := r.run(ctx, "mv", "-T", path.Join(data, newFolder, memberFolder), path.Join(data, memberFolder)); err != nil {
		return before, err
	}
	return before, r.clear(ctx, data)
}

// renew writes the data of a cluster of one into the new folder.
func (r Repair) renew(ctx context.Context, m Member, data, database string) error {
	if err := r.clear(ctx, data); err != nil {
		return err
	}
	image := r.at(imageFolder)
	words := []string{"snapshot", "restore"}
	if r.Snapshot == nil {
		r.Progress("making a cluster of one of the data on the machine")
		// The database of a member has no digest at its end, as a snapshot has.
		words = append(words, database, "--skip-hash-check")
	} else {
		r.Progress("sending the snapshot")
		file := path.Join(data, snapshotFile)
		if err := r.Host.Pipe(ctx, r.Snapshot, nil, "install", "-m", "0600", "/dev/stdin", file); err != nil {
			return fmt.Errorf("sending the snapshot: %w", err)
		}
		// Whoever watches has seen later revisions: those of the restored cluster begin
		// after them, so that nobody takes an old object for a new one.
		words = append(words, file, "--bump-revision=1000000000", "--mark-compacted")
	}
	words = append(words, "--name="+m.Name, "--initial-cluster="+m.Name+"="+m.PeerURL, "--initial-advertise-peer-urls="+m.PeerURL, "--data-dir="+path.Join(data, newFolder))
	if err := r.run(ctx, "mkdir", "-p", image); err != nil {
		return err
	}
	if err := r.run(ctx, "ctr", "--namespace=k8s.io", "images", "mount", m.Image, image); err != nil {
		return err
	}
	_, err := r.Host.Run(ctx, path.Join(image, "usr/local/bin/etcdutl"), words...)
	// What is left mounted changes nothing, and the next run mounts over it.
	_, _ = r.Host.Run(context.WithoutCancel(ctx), "ctr", "--namespace=k8s.io", "images", "unmount", "--rm", image)
	if err != nil {
		return fault.New("etcd member "+m.Name, fmt.Errorf("its data cannot be read: %w", err), "nothing was replaced; if the data are damaged, use a snapshot: slipway recover --etcd-snapshot")
	}
	return nil
}

// clear removes what only a repair under way needs.
func (r Repair) clear(ctx context.Context, data string) error {
	return r.run(ctx, "rm", "-rf", path.Join(data, newFolder), path.Join(data, snapshotFile))
}
