// Package datastore copies the datastore of the seed off the machine, and puts it on a
// new seed: all that k3s needs to be the same cluster again (row F57).
package datastore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
)

// Host is the seed's machine; *remote.Machine is one.
type Host interface {
	// Run runs a program as root and returns its output; *remote.Failure if that failed.
	Run(ctx context.Context, program string, args ...string) (string, error)
	// Pipe runs a program as root between two streams.
	Pipe(ctx context.Context, in io.Reader, out io.Writer, program string, args ...string) error
}

// Folder is where k3s keeps its data on the seed.
const Folder = "/var/lib/rancher/k3s"

// take writes the archive to its standard output. SQLite's backup API reads a database
// that is written meanwhile as of one moment, which no copy of the file does. Python is
// on every machine with cloud-init. Pages that are in use stay in their places. A run that
// was killed leaves its copy, which the next one removes when nobody can be at work on it.
const take = `
import glob, os, shutil, sqlite3, sys, tarfile, tempfile, time
root = sys.argv[1]
for left in glob.glob(os.path.join(glob.escape(root), "slipway-copy-*")):
    if time.time() - os.stat(left).st_mtime > 2 * 3600:
        shutil.rmtree(left, ignore_errors=True)
with tempfile.TemporaryDirectory(dir=root, prefix="slipway-copy-") as room:
    copy = os.path.join(room, "state.db")
    source = sqlite3.connect(os.path.join(root, "server/db/state.db"), timeout=60)
    target = sqlite3.connect(copy)
    source.backup(target)
    source.close()
    found = target.execute("PRAGMA quick_check").fetchone()[0]
    if found != "ok":
        sys.exit("the database is damaged: " + found)
    target.close()
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        archive.add(copy, "server/db/state.db")
        for name in ("server/token", "server/tls", "server/cred", "slipway/node"):
            if os.path.exists(os.path.join(root, name)):
                archive.add(os.path.join(root, name), name)
`

// Take writes the datastore of a running seed as a tar archive: the database as of one
// moment, the authorities, the keys that encrypt Secrets, and the node's password.
func Take(ctx context.Context, h Host, folder string, to io.Writer) error {
	err := h.Pipe(ctx, nil, to, "python3", "-c", take, folder)
	if failed := (*remote.Failure)(nil); errors.As(err, &failed) {
		return fault.New("datastore of the seed", err, "see with slipway logs k3s whether k3s runs on its data volume, and whether the volume has room for a copy")
	}
	if err != nil {
		return fmt.Errorf("copying the datastore of the seed: %w", err)
	}
	return nil
}

// has prints what the datastore says of a key; kine adds a row for each change.
const has = `
import os, sqlite3, sys
db = sqlite3.connect("file:" + os.path.join(sys.argv[1], "server/db/state.db") + "?mode=rw", uri=True, timeout=60)
row = db.execute("SELECT deleted FROM kine WHERE name = ? ORDER BY id DESC LIMIT 1", (sys.argv[2],)).fetchone()
print("yes" if row is not None and not row[0] else "no")
`

// Has reports whether the datastore of a running seed has an object by its key in etcd's
// terms, such as /registry/cluster.x-k8s.io/clusters/default/demo.
func Has(ctx context.Context, h Host, folder, key string) (bool, error) {
	said, err := h.Run(ctx, "python3", "-c", has, folder, key)
	if err != nil {
		return false, fmt.Errorf("looking for %s in the datastore of the seed: %w", key, err)
	}
	return strings.TrimSpace(said) == "yes", nil
}

// The names beside k3s' own. A restored folder has mark with the ID of the backup; what
// it replaced stays beside, for somebody to remove.
const (
	serverFolder = "server"
	newFolder    = "slipway-restored"
	mark         = "slipway-backup"
)

// Put puts an archive of Take in the place of the datastore of a seed, whose k3s it stops
// and starts. A seed that has this backup already is left alone. It can be ended anywhere
// and run again: k3s starts with the old datastore or with the whole new one.
func Put(ctx context.Context, h Host, folder, backup string, archive []byte) error {
	if done, err := there(ctx, h, path.Join(folder, serverFolder, mark+"-"+backup)); err != nil {
		return err
	} else if done { // a former run may have ended before it
		return start(ctx, h)
	}
	fresh := path.Join(folder, newFolder)
	for _, words := range [][]string{{"rm", "-rf", fresh}, {"mkdir", "-m", "0700", fresh}} {
		if err := run(ctx, h, words...); err != nil {
			return err
		}
	}
	if err := h.Pipe(ctx, bytes.NewReader(archive), nil, "tar", "--extract", "--preserve-permissions", "--same-owner", "--directory", fresh); err != nil {
		return fault.New("datastore of the seed", fmt.Errorf("unpacking: %w", err), "nothing was replaced: see whether the data volume has room, or use another backup with --at")
	}
	if whole, err := there(ctx, h, path.Join(fresh, serverFolder, "db/state.db")); err != nil || !whole {
		return errors.Join(err, fault.New("datastore of the seed", errors.New("the archive has no database"), "nothing was replaced: use another backup with --at"))
	}
	if err := run(ctx, h, "touch", path.Join(fresh, serverFolder, mark+"-"+backup)); err != nil {
		return err
	}
	return swap(ctx, h, folder, fresh)
}

// swap replaces the folders while k3s does not run.
func swap(ctx context.Context, h Host, folder, fresh string) error {
	if err := run(ctx, h, "systemctl", "stop", "k3s.service"); err != nil {
		return err
	}
	moment, err := h.Run(ctx, "date", "+%s%N")
	if err != nil {
		return err
	}
	before := path.Join(folder, "slipway-before-"+strings.TrimSpace(moment))
	if err := run(ctx, h, "mkdir", "-p", "-m", "0700", before); err != nil {
		return err
	}
	// The server's folder comes last: with it, the mark says that all is there.
	for _, name := range []string{"slipway/node", serverFolder} {
		has, err := there(ctx, h, path.Join(fresh, name))
		if err != nil {
			return err
		}
		if !has {
			continue
		}
		old, err := there(ctx, h, path.Join(folder, name))
		if err != nil {
			return err
		}
		if old {
			if err := run(ctx, h, "mv", "-T", path.Join(folder, name), path.Join(before, path.Base(name))); err != nil {
				return err
			}
		}
		if err := run(ctx, h, "mkdir", "-p", path.Dir(path.Join(folder, name))); err != nil {
			return err
		}
		if err := run(ctx, h, "mv", "-T", path.Join(fresh, name), path.Join(folder, name)); err != nil {
			return err
		}
	}
	if err := run(ctx, h, "rm", "-rf", fresh); err != nil {
		return err
	}
	return start(ctx, h)
}

// start starts k3s, unless it runs. Whether it comes up is for the caller to watch.
func start(ctx context.Context, h Host) error {
	return run(ctx, h, "systemctl", "start", "--no-block", "k3s.service")
}

func run(ctx context.Context, h Host, words ...string) error {
	if _, err := h.Run(ctx, words[0], words[1:]...); err != nil {
		return fault.New("seed", err, "fix the cause on the seed (slipway ssh), then run the same command again: it continues from here")
	}
	return nil
}

// there reports whether a path exists.
func there(ctx context.Context, h Host, p string) (bool, error) {
	_, err := h.Run(ctx, "test", "-e", p)
	if failed := (*remote.Failure)(nil); errors.As(err, &failed) && failed.Status == 1 {
		return false, nil
	}
	return err == nil, err
}
