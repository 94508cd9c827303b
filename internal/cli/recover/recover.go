// Package recover is `slipway recover`.
package recover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/ui"
)

// Wanted says which backup to read.
type Wanted struct {
	// From is the URL of the target; "" is that of the environment file.
	From string
	// At is the latest time of the backup; zero is the newest.
	At time.Time
	// ID is the backup's; then At does not count. "" is the newest.
	ID string
	// Identities are the private keys of the operator.
	Identities []age.Identity
}

// Source reads a backup of an environment.
type Source func(ctx context.Context, loaded *config.Loaded, w Wanted) (Found, error)

type options struct {
	environment environment.Flags
	timeout     target.Timeout
	skip        []string
	url, at     string
	identity    string
	cluster     string
	leave       []string
	// fromSnapshot, survivor and hostKey are for the repair of etcd.
	fromSnapshot      bool
	survivor, hostKey string
	watch             time.Duration
	yes, dry          bool
	progress          string
	format            string
}

// New returns the command; source reads backups.
func New(streams ui.Streams, source Source) *cobra.Command {
	o := options{progress: "auto", format: "table", watch: recovery.UsualWatch}
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Find out what of an environment is lost, and repair it",
		Long: `Asks the cloud and, where they can be reached, the clusters what is lost. It prints what it
found and what it will do, and does the smallest repair that is safe:

  seed lost                   makes it again, on its data volume or with the datastore of
                              the backup
  one control plane lost      waits while Cluster API replaces it
  two of three lost           makes etcd on the last one a cluster of its own; others join it
  everything lost             rebuilds it from the backup

If it cannot tell causes apart it stops with a question. --dry-run shows the diagnosis.
With --etcd-snapshot the last control plane server gets the backup's etcd snapshot.

A rebuild brings the environment up again, restores the objects of a backup with their
status, and proves that nothing in the cloud changes, before any controller may act:

  1. up        makes the seed and the first node of the management cluster; others join
  2. fence     counts the rebuild in the cloud; servers of the former one must be gone
  3. restore   writes all objects; every cluster is paused
  4. prove     compares objects and cloud; nothing is unpaused unless all checks pass
  5. unpause   one cluster, then 10 %, then the rest, and watches the cloud meanwhile
  6. complete  waits for all nodes, and brings the Magnum API back

If a server or load balancer of a cluster comes or goes meanwhile, all clusters are paused
again, and the error names it. Workload clusters keep running all the time.

If the seed is a container (spec.seed.provider: kind), a rebuild makes it on this machine,
which needs Docker or Podman, and deletes it in the end. Etcd cannot be repaired then.

It needs the environment file, clouds.yaml, the state if there is one, and for what comes
from a backup the private age key. If it is interrupted, run it again: it continues.

With --cluster it restores one cluster that was deleted by mistake into the management
cluster that is there. The servers of the cluster must still exist.

Exit codes: 0 all is repaired and proved; 2 the command line, the file or the backup is
wrong, or you have to decide, and nothing was changed; 4 a check failed or the cloud
changed, and everything that was restored is paused: fix the cause and run the same command
again.`,
		Example: `  slipway recover --dry-run
  slipway recover --identity backup-key.txt
  slipway recover --from swift://backups/prod --at 2026-03-01T04:00:00Z --yes
  slipway recover --leave tenant/broken
  slipway recover --cluster shop
  slipway recover --etcd-snapshot --at 2026-03-01T04:00:00Z`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.timeout.Run(cmd.Context(), func(ctx context.Context) error { return o.run(ctx, streams, source) })
		},
	}
	flags := cmd.Flags()
	o.environment.Add(flags)
	o.timeout.Add(flags)
	flags.StringVar(&o.url, "from", "", "where the backups are: file://…, swift://… or s3://… (default: spec.backup.target)")
	flags.StringVar(&o.at, "at", "", "use the last backup before this time, such as 2026-03-01T04:00:00Z (default: the newest)")
	flags.StringVarP(&o.identity, "identity", "i", "", "file of the private age key (default: $SLIPWAY_AGE_KEY_FILE)")
	flags.StringVar(&o.cluster, "cluster", "", "restore one cluster only: its name, namespace/name, or Magnum UUID")
	flags.StringSliceVar(&o.leave, "leave", nil, "leave these clusters (namespace/name) paused: their failed checks stop nobody else")
	flags.BoolVar(&o.fromSnapshot, "etcd-snapshot", false, "give the last control plane server the etcd snapshot of the backup, instead of its own data")
	flags.StringVar(&o.survivor, "survivor", "", "the control plane server, by name or ID, whose etcd has the newest data, if several are left without a quorum")
	flags.StringVar(&o.hostKey, "host-key", "", "SSH host key of that server, as a line of authorized_keys (default: what is on its console)")
	flags.DurationVar(&o.watch, "watch", o.watch, "how long the cloud is watched at least after each wave")
	flags.StringSliceVar(&o.skip, "skip-check", nil, "ids of preflight checks to skip")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	flags.BoolVar(&o.dry, "dry-run", false, "say what would be restored, and change nothing")
	ui.ProgressFlag(flags, &o.progress)
	ui.FormatFlag(flags, &o.format)
	return cmd
}

// wanted checks the flags; every mistake is told.
func (o options) wanted() (Wanted, error) {
	w := Wanted{From: o.url}
	var wrong []error
	if o.at != "" {
		at, err := time.Parse(time.RFC3339, o.at)
		if err != nil {
			wrong = append(wrong, fault.Usage("--at "+o.at, errors.New("it is no time"), "write it like 2026-03-01T04:00:00Z"))
		}
		w.At = at
	}
	if o.watch <= 0 {
		wrong = append(wrong, fault.Usage("--watch", errors.New("it is not a positive duration"), "give a duration such as 1m"))
	}
	if o.cluster != "" && (o.fromSnapshot || o.survivor != "") {
		wrong = append(wrong, fault.Usage("--cluster", errors.New("--etcd-snapshot and --survivor are of a repair of the whole management cluster"), "give one of them"))
	}
	if o.hostKey != "" {
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(o.hostKey)); err != nil {
			wrong = append(wrong, fault.Usage("--host-key", errors.New("it is no line of authorized_keys"), "give the content of /etc/ssh/ssh_host_ed25519_key.pub on the machine"))
		}
	}
	path := o.identity
	if path == "" {
		path = os.Getenv("SLIPWAY_AGE_KEY_FILE")
	}
	if path == "" { // a repair that needs no backup needs no key
		return w, errors.Join(wrong...)
	}
	file, err := os.Open(path)
	if err != nil {
		return w, errors.Join(append(wrong, fault.Usage("--identity", err, "check the path"))...)
	}
	defer file.Close()
	if w.Identities, err = age.ParseIdentities(file); err != nil {
		// The library's error could quote the key.
		wrong = append(wrong, fault.Usage("--identity "+path, errors.New("it is no file of age keys"), "give a file that age-keygen wrote"))
	}
	return w, errors.Join(wrong...)
}

// errNoIdentity is that of what needs a backup.
func errNoIdentity() error {
	return fault.Usage("--identity", errors.New("no private age key is named"), "give the file of the key that spec.backup.recipients names the public part of")
}

// partly is an error after something was restored, which stays paused.
func partly(err error) error {
	if err == nil || fault.ExitCode(err) == fault.ExitInterrupted || fault.ExitCode(err) == fault.ExitDeadline {
		return err
	}
	return &fault.Fault{Exit: fault.ExitPartial, Err: err}
}

// since says how old a backup is.
func since(taken, now time.Time) string {
	return fmt.Sprintf("%s (%s old)", taken.UTC().Format(time.RFC3339), ui.Duration(now.Sub(taken)))
}
