// Package controller brings clusters and node groups of the Magnum endpoint in
// line: each Cluster is one Helm release of the openstack-cluster chart, and
// what Cluster API makes of it becomes Magnum's status.
//
// One reconciler has the whole of a cluster in hand, its node groups included:
// they share the release, so two would only undo each other's work. Nothing is
// polled; watches tell when to look.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// Options are the settings of the controllers. The zero value of each field
// means what its comment says.
type Options struct {
	// Chart gives the openstack-cluster chart. Required.
	Chart func() (*chart.Chart, error)
	// Defaults are the operator's settings of clusters.
	Defaults driver.Defaults
	// Resolver looks up what a Cluster that was not made by the endpoint leaves
	// open. Nil: by the cluster's own credential.
	Resolver Resolver
	// Revoker deletes application credentials. Nil: they are left, and a
	// condition tells so.
	Revoker Revoker
	// Releases makes Helm releases. Nil: by Helm's library on the manager's cluster.
	Releases Releases
	// Clouds tells what the clouds of clusters say. Nil: they are not asked, and causes
	// are only those that Cluster API knows.
	Clouds Clouds
	// Patience is how long trouble that only outside help cures may last until
	// the operation is called failed. 0: 5 min.
	Patience time.Duration
	// Overlap is how long a superseded credential stays valid after the cluster
	// got the new one. 0: 10 min.
	Overlap time.Duration
	// CloudCA are the CA certificates of the cloud, in PEM, for the Secrets of clusters whose
	// credential the endpoint made. Nil: each keeps what it was created with.
	CloudCA []byte
	// Concurrency bounds the clusters that are worked on at a time. 0: 8.
	Concurrency int
	// Log is for what Helm does. Nil: nowhere.
	Log *slog.Logger
	// Now is the clock. Nil: the machine's.
	Now func() time.Time
}

// Resolver looks names up in a cluster's cloud.
type Resolver interface {
	// Resolve fills in what is missing in resolved, for the cluster and its
	// groups' images, with the credential in the Secret.
	Resolve(ctx context.Context, secret *corev1.Secret, want Names) (*v1alpha1.ResolvedNames, map[string]v1alpha1.ResolvedImage, error)
}

// Names are to be looked up; empty ones are not.
type Names struct {
	Image, ExternalNetwork, FixedNetwork, FixedSubnet string
	// Images of node groups.
	Images []string
	// MTUOf is the id of a network whose MTU is to be read.
	MTUOf string
}

// Clouds remembers what clouds say, so that a reconciliation never waits for one.
type Clouds interface {
	// Look returns what the project of a credential last said, nil if nothing is known, and
	// after how long to look again. key names the credential.
	Look(ctx context.Context, key string, o cloud.Options) (*cause.Cloud, time.Duration)
}

// Revoker deletes application credentials; one that is gone is no error.
type Revoker interface {
	Revoke(ctx context.Context, userID, credentialID string) error
}

func (o Options) complete(mgr manager.Manager) (Options, error) {
	if o.Chart == nil {
		return o, errors.New("the controllers of Magnum need a chart")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Resolver == nil {
		o.Resolver = CloudResolver{}
	}
	if o.Releases == nil {
		o.Releases = newHelmReleases(mgr.GetConfig(), o.Log)
	}
	return o.defaults(), nil
}

func (o Options) defaults() Options {
	if o.Patience == 0 {
		o.Patience = 5 * time.Minute
	}
	if o.Overlap == 0 {
		o.Overlap = 10 * time.Minute
	}
	if o.Concurrency == 0 {
		o.Concurrency = 8
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Setup adds the controllers to a manager. They bring their own cache, of which
// the manager's configuration and mapper are all they take. The definitions of
// the endpoint, of Cluster API and of the addon provider must be on the cluster.
func Setup(mgr manager.Manager, options Options) error {
	o, err := options.complete(mgr)
	if err != nil {
		return err
	}
	objects, reader, err := newClient(mgr)
	if err != nil {
		return fmt.Errorf("preparing the cache of Magnum's controllers: %w", err)
	}
	r := newReconciler(objects, reader.live, o)
	r.kept = reader.cache
	r.events = mgr.GetEventRecorderFor("magnum")
	if err := r.known.register(metrics.Registry); err != nil {
		return err
	}
	return r.watch(mgr, reader.cache)
}
