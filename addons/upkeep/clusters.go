package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/clusterapi"
)

const (
	// calm is how often the cloud of a cluster is asked: at most, because only some have
	// their turn in one look. What an alert may be about is asked in each look, so that the
	// alert ends soon.
	calm = time.Hour
	// near is when a login's end is worth that: before alerts are.
	near = 15 * 24 * time.Hour
	// turns is how many clusters are asked in one look: a thousand in 100 minutes.
	turns = 50
	// atOnce is how many at the same time, and patience how long one may take.
	atOnce   = 8
	patience = 20 * time.Second
)

// visit is what the cloud of a cluster said.
type visit struct {
	due time.Time
	// ends is when its login ends; zero if that is never, or not known.
	ends time.Time
	// images are those of its templates that are not well, with their states.
	images map[string]string
}

// visitSome asks the clouds of the clusters whose turn it is, and tells of all.
func (w *watch) visitSome(ctx context.Context, all []clusterapi.Brief) error {
	known := map[types.NamespacedName]*visit{}
	for _, b := range all {
		if known[b.NamespacedName] = w.clusters[b.NamespacedName]; known[b.NamespacedName] == nil {
			known[b.NamespacedName] = &visit{}
		}
	}
	w.clusters = known
	due := slices.DeleteFunc(slices.Clone(all), func(b clusterapi.Brief) bool { return known[b.NamespacedName].due.After(w.now()) })
	slices.SortStableFunc(due, func(a, b clusterapi.Brief) int {
		return known[a.NamespacedName].due.Compare(known[b.NamespacedName].due)
	})
	due = due[:min(len(due), turns)]
	wrong := make([]error, len(due))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, b := range due {
		group.Go(func() error {
			v := known[b.NamespacedName]
			if err := v.ask(ctx, w, b); err != nil {
				wrong[i] = fmt.Errorf("cluster %s: %w", b, err)
			}
			v.due = w.now().Add(calm)
			if len(v.images) > 0 || !v.ends.IsZero() && v.ends.Sub(w.now()) < near {
				v.due = w.now()
			}
			return nil
		})
	}
	_ = group.Wait() // there are no errors
	ends, found := map[string]time.Time{}, map[bad]int{}
	for key, v := range known {
		ends[key.String()] = v.ends
		for image, is := range v.images {
			found[bad{image, is, ofCluster}]++
		}
	}
	w.tally.setEnds(ofCluster, ends)
	w.tally.setImages(ofCluster, found)
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	w.tally.lookedAt(lookedClusters, w.now())
	return nil
}

// ask asks the cloud of a cluster with the cluster's own login, so that nothing is read that
// its project may not see. A cluster without a login is left alone.
func (v *visit) ask(ctx context.Context, w *watch, b clusterapi.Brief) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	login, ok, err := b.Login(ctx, w.client)
	if err != nil {
		return err
	}
	if !ok { // it may have had one, whose end is nobody's now
		v.ends, v.images = time.Time{}, nil
		return nil
	}
	opened, err := cloud.Open(ctx, login)
	if refused(err) {
		v.ends = ended(v.ends, w.now())
		return nil
	}
	if err != nil {
		return fmt.Errorf("logging in: %w", err)
	}
	defer opened.Close()
	ends, err := opened.LoginEnds(ctx)
	if err != nil {
		return err
	}
	v.ends = ends
	wanted, err := b.Images(ctx, w.client)
	if err != nil {
		return err
	}
	client, err := opened.Image()
	if err != nil {
		return err
	}
	images := map[string]string{}
	for _, i := range wanted {
		name := cmp.Or(i.ID, i.Name, strings.Join(i.Tags, ","))
		if name == "" {
			continue
		}
		is, err := stateOf(ctx, client, i)
		if err != nil {
			return err
		}
		if is != "" {
			images[name] = is
		}
	}
	v.images = images
	return nil
}
