package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/datastore"
	"github.com/slipway-sh/slipway/internal/etcd"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery/undo"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// Before makes a backup of the environment that the flags name, before something changes
// it, and returns it. It is kept until a time. Without what is applied on the management
// cluster it would be no way back, so that is an error here.
func Before(ctx context.Context, from environment.Flags, until time.Time, events event.Sink) (backup.Backup, error) {
	o := createOptions{from: vault.Flags{Flags: from}, until: until}
	loaded, err := o.from.Load()
	if err != nil {
		return backup.Backup{}, err
	}
	r, err := vault.OpenToWrite(ctx, loaded, "", nil, false)
	if err != nil {
		return backup.Backup{}, err
	}
	return o.create(ctx, loaded, r, events)
}

// addControllers adds what slipway up applied on the cluster. A backup that is to be kept
// for an undo is nothing without it; another one is worth having, and says so.
func (o createOptions) addControllers(ctx context.Context, cluster *rest.Config, w *backup.Writer, events event.Sink) error {
	step := event.Start(events, backup.FileControllers, "reading what slipway up applied")
	size, err := func() (int64, error) {
		on, err := kube.New(cluster)
		if err != nil {
			return 0, err
		}
		applied, err := undo.Read(ctx, on)
		if err != nil {
			return 0, err
		}
		text, err := applied.Encode()
		if err != nil {
			return 0, err
		}
		return w.AddFile(backup.FileControllers, bytes.NewReader(text))
	}()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil && o.until.IsZero():
		step.Skip("left out: " + err.Error())
		events.Emit(event.Event{Time: time.Now(), State: event.Note, Message: "slipway undo cannot use the backup: " + err.Error()})
		return nil
	}
	step.End(mib(size), err)
	return err
}

// copier writes a file of a backup.
type copier func(ctx context.Context, to io.Writer) error

// addFiles adds the etcd snapshot of the management cluster and the datastore of the seed.
// Objects are worth a backup without them, so what cannot be had is told and left out.
func (o createOptions) addFiles(ctx context.Context, loaded *config.Loaded, e *engine.Engine, w *backup.Writer, events event.Sink) error {
	if o.kubeconfig != "" { // a cluster that is none of the environment's
		return nil
	}
	seed, err := target.SeedIn(ctx, e, loaded)
	if err != nil {
		return err
	}
	copiers := map[string]copier{backup.FileDatastore: func(ctx context.Context, to io.Writer) error { return Datastore(ctx, seed, to) }}
	if loaded.Environment.Spec.ManagementCluster != nil {
		copiers[backup.FileEtcd] = func(ctx context.Context, to io.Writer) error { return snapshotThrough(ctx, loaded, seed, to) }
	}
	for _, name := range []string{backup.FileEtcd, backup.FileDatastore} {
		take, wanted := copiers[name]
		if !wanted || slices.Contains(o.skip, name) {
			continue
		}
		step := event.Start(events, name, "copying the "+map[string]string{backup.FileEtcd: "management cluster's etcd", backup.FileDatastore: "seed's datastore"}[name])
		size, err := addFile(ctx, w, name, take)
		if ctx.Err() != nil {
			step.End("", context.Cause(ctx))
			return context.Cause(ctx)
		}
		if err != nil {
			step.Skip("left out: " + err.Error())
			events.Emit(event.Event{Time: time.Now(), State: event.Note, Message: fmt.Sprintf("the backup has no %s: %v", name, err)})
			continue
		}
		step.End(mib(size), nil)
	}
	return nil
}

// addFile lets a copier write into the backup. What a copier that fails has written is
// dropped.
func addFile(ctx context.Context, w *backup.Writer, name string, take copier) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = to.CloseWithError(take(ctx, to)) // nil is the end of the file
	}()
	size, err := w.AddFile(name, from)
	_ = from.CloseWithError(errors.Join(errors.New("the backup takes no more"), err))
	cancel()
	<-ended
	return size, err
}

// Datastore writes a copy of the seed's datastore (package datastore), through SSH.
func Datastore(ctx context.Context, seed *target.Seed, to io.Writer) error {
	machine, err := seed.Login(ctx)
	if err != nil {
		return err
	}
	defer machine.Close()
	return datastore.Take(ctx, machine, datastore.Folder, to)
}

// snapshotThrough writes an etcd snapshot of the management cluster, through the seed and
// one of the control plane's machines.
func snapshotThrough(ctx context.Context, loaded *config.Loaded, seed *target.Seed, to io.Writer) error {
	c, err := cloud.Open(ctx, environment.CloudOptions(loaded))
	if err != nil {
		return err
	}
	defer c.Close()
	through, err := seed.Login(ctx)
	if err != nil {
		return err
	}
	defer through.Close()
	running, err := c.Running(ctx)
	if err != nil {
		return err
	}
	problems := []error{errors.New("no control plane server of the management cluster is running")}
	for _, s := range running.Servers {
		if !strings.HasPrefix(s.Name, loaded.Environment.Metadata.Name+"-control-plane-") || s.Status != "ACTIVE" {
			continue
		}
		client, leave, err := target.Etcd(ctx, seed, c, through, s.ID)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		defer leave()
		_, err = etcd.Snapshot(ctx, client, to)
		return err // once it has written, no other may
	}
	return errors.Join(problems...)
}
