package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/capture"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/backup/tenants"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/engine"
)

type createOptions struct {
	from             vault.Flags
	recipients       []string
	kubeconfig       string
	full             bool
	skip             []string
	format, progress string
	// until is until when the backup is kept whatever else is; zero is no such time.
	until time.Time
}

func newCreate(streams ui.Streams) *cobra.Command {
	o := createOptions{format: "table", progress: "auto"}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a backup",
		Long: `Reads all objects of the management cluster at one moment, with the environment file, the
state and a list of what the cloud has, and stores them encrypted at spec.backup.target.
What former backups stored already is not stored again. A backup is listed when it is
whole. If the command is interrupted, run it again: it continues from what is stored.

What slipway up applied on the management cluster is part of it: slipway undo goes back to
that after an upgrade.

It also takes a snapshot of the management cluster's etcd, on its leader and only if most
members are healthy, and a copy of the seed's datastore. If one of them cannot be read, the
backup is made without it and says so. --skip leaves them out.

If the environment has no management cluster, Kubernetes on the seed is backed up. While a
rebuild by slipway recover is half done, no backup is made.`,
		Example: `  slipway backup create
  slipway backup create --target file:///mnt/backups --recipient age1…
  slipway backup create --skip etcd
  slipway backup create -o json | jq -r .id`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().StringArrayVar(&o.recipients, "recipient", nil, "public key of age (age1…) that can read the backup, instead of spec.backup.recipients; can be repeated")
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster; default: the one in the state")
	cmd.Flags().BoolVar(&o.full, "full", false, "store everything again, without relying on former backups")
	cmd.Flags().StringSliceVar(&o.skip, "skip", nil, "leave out: etcd, datastore")
	ui.FormatFlag(cmd.Flags(), &o.format)
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

func (o createOptions) run(ctx context.Context, streams ui.Streams) error {
	for _, name := range o.skip {
		if name != backup.FileEtcd && name != backup.FileDatastore {
			return fault.Usage("--skip "+name, errors.New("a backup has no such part"), "name etcd, datastore or both")
		}
	}
	loaded, err := o.from.Load()
	if err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return fault.Usage("--progress", err, "")
	}
	defer progress.Close()
	r, err := vault.OpenToWrite(ctx, loaded, o.from.Target, o.recipients, o.full)
	if err != nil {
		return err
	}
	b, err := o.create(ctx, loaded, r, progress)
	progress.Close()
	if err != nil {
		return err
	}
	return ui.Output(streams.Out, o.format, b, showTable(b))
}

// create reads and writes side by side: objects go from pages of the API server into
// packs, and are never all in memory.
func (o createOptions) create(ctx context.Context, loaded *config.Loaded, r *backup.Repository, events event.Sink) (backup.Backup, error) {
	e, err := target.Engine(loaded, event.Discard{}, nil)
	if err != nil {
		return backup.Backup{}, err
	}
	cluster, leave, err := o.reach(ctx, loaded, e)
	if err != nil {
		return backup.Backup{}, err
	}
	defer leave()
	client, err := whole(ctx, cluster)
	if err != nil {
		return backup.Backup{}, err
	}
	w, err := r.Begin(ctx)
	if err != nil {
		return backup.Backup{}, err
	}
	w.KeepUntil(o.until)
	into := &objects{Writer: w}
	read, err := readObjects(ctx, cluster, loaded, into, events)
	if err != nil {
		w.Abort()
		return backup.Backup{}, err
	}
	s := &snapshot.Snapshot{Environment: loaded.Environment.Metadata.Name, Taken: read.Ended, Revision: read.Revision,
		Slipway: strings.TrimPrefix(environment.UserAgent(), "slipway/"), Kubernetes: read.Kubernetes, Controllers: read.Controllers}
	if s.File, err = target.EnvironmentFile(o.from.Files, o.from.Name != "", loaded); err == nil {
		s.State, err = state(ctx, e)
	}
	if err == nil && len(s.State) > 0 {
		s.StatePassphrase, err = target.Passphrase(loaded)(ctx, false)
	}
	known := false
	if err == nil {
		s.Generation, known, err = restore.Noted(ctx, client)
	}
	if err == nil {
		s.Cloud, err = inventory(ctx, loaded, generation{s.Generation, known}, &into.logins, events)
	}
	if err != nil {
		w.Abort()
		return backup.Backup{}, err
	}
	if err := o.addControllers(ctx, cluster, w, events); err != nil {
		w.Abort()
		return backup.Backup{}, err
	}
	if err := o.addFiles(ctx, loaded, e, w, events); err != nil {
		w.Abort()
		return backup.Backup{}, err
	}
	step := event.Start(events, "store", "storing what is new")
	b, err := w.Commit(ctx, s)
	step.End(mib(b.Written), err)
	return b, err
}

// whole returns the client of a cluster of which no rebuild is half done.
func whole(ctx context.Context, cluster *rest.Config) (*kubernetes.Clientset, error) {
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	return client, restore.Complete(ctx, client)
}

// reach returns the client configuration of the cluster that is backed up.
func (o createOptions) reach(ctx context.Context, loaded *config.Loaded, e *engine.Engine) (*rest.Config, func(), error) {
	if o.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return nil, nil, fault.Usage("kubeconfig "+o.kubeconfig, err, "give a file that kubectl --kubeconfig accepts")
		}
		return config, func() {}, nil
	}
	seed, err := target.SeedIn(ctx, e, loaded)
	if err != nil {
		return nil, nil, err
	}
	kubeconfig := seed.Management
	if loaded.Environment.Spec.ManagementCluster == nil {
		kubeconfig = seed.Kubeconfig
	}
	if kubeconfig == "" {
		return nil, nil, fault.New("management cluster of "+loaded.Environment.Metadata.Name, errors.New("it is not ready yet"), "see its progress with slipway status")
	}
	return seed.Reach(ctx, kubeconfig)
}

// objects is the sink of a capture into a backup.
type objects struct {
	*backup.Writer
	// logins are those of the clusters among the objects.
	logins tenants.Logins
}

// Begin forgets what was added.
func (o *objects) Begin(context.Context) error {
	o.Restart()
	o.logins.Reset()
	return nil
}

// Add adds an object.
func (o *objects) Add(ctx context.Context, object backup.Object) error {
	if err := o.logins.Note(object); err != nil {
		return err
	}
	return o.Writer.Add(ctx, object)
}

func readObjects(ctx context.Context, cluster *rest.Config, loaded *config.Loaded, into *objects, events event.Sink) (capture.Result, error) {
	options := capture.Options{}
	if spec := loaded.Environment.Spec.Backup; spec != nil {
		options.Groups = spec.Groups
	}
	step := event.Start(events, "objects", "reading the management cluster")
	count := 0
	options.Progress = func(_ string, more int) {
		count += more
		step.Count(int64(count), 0, "items")
	}
	result, err := capture.Read(ctx, cluster, options, into)
	step.End(fmt.Sprintf("%d objects at revision %s", result.Objects, result.Revision), err)
	return result, err
}

// state is the state of the environment; empty if there is none, as of a cluster that
// --kubeconfig names.
func state(ctx context.Context, e *engine.Engine) ([]byte, error) {
	resources, err := e.Resources(ctx)
	if err != nil || len(resources) == 0 {
		return nil, err
	}
	return e.Export(ctx)
}

// inventory lists what the cloud has, and is ErrFenced if that has a newer generation. Without
// an answer of the cloud the objects are worth a backup all the same, and the backup says what
// it lacks.
func inventory(ctx context.Context, loaded *config.Loaded, ours generation, logins *tenants.Logins, events event.Sink) (snapshot.Inventory, error) {
	step := event.Start(events, "cloud", "listing what the cloud has")
	all, err := func() (snapshot.Inventory, error) {
		c, err := cloud.Open(ctx, environment.CloudOptions(loaded))
		if err != nil {
			return snapshot.Inventory{}, err
		}
		defer c.Close()
		if network, err := c.Network(); err == nil {
			if err := ours.check(ctx, fence.Fence{Network: network, Environment: loaded.Environment.Metadata.Name}); err != nil {
				return snapshot.Inventory{}, err
			}
		}
		return capture.Inventory(ctx, c)
	}()
	if ctx.Err() != nil {
		step.End("", context.Cause(ctx))
		return all, context.Cause(ctx)
	}
	if errors.Is(err, fence.ErrFenced) {
		step.End("", err)
		return all, err
	}
	if err != nil {
		all.Missing = []string{err.Error()}
	}
	if err := logins.Add(ctx, &all, environment.UserAgent()); err != nil {
		step.End("", err)
		return all, err
	}
	step.End(fmt.Sprintf("%d servers, %d volumes", len(all.Servers), len(all.Volumes)), nil)
	for _, cause := range all.Missing {
		events.Emit(event.Event{Time: time.Now(), State: event.Note, Message: "the backup does not know what the cloud has: " + cause})
	}
	return all, nil
}
