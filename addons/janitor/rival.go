package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// place is where the resources of a cluster are; without a region, they may be in any region.
type place struct{ project, region string }

func placeOf(opened *cloud.Cloud, token cloud.Token) place {
	return place{token.ProjectID, opened.Endpoint.Region}
}

// shares reports whether two clusters may have their resources in one place: a project that
// Keystone knows is a separate one in each region.
func (p place) shares(other place) bool {
	return p.project == other.project && (p.region == other.region || p.region == "" || other.region == "")
}

// namesake is another cluster with the target's name.
type namesake struct {
	target
	// why says why it has to be taken into account; "" if it does not.
	why string
}

// parallelRivals is how many namesakes are checked at the same time.
const parallelRivals = 8

// rivals are the clusters with the target's name that may share its place: OCCM and Cinder CSI
// describe what they create for either in the same words. What a rival's status names as its own is
// removed from the target's. Their clouds have half of the attempt's time to answer, however many
// hang: then it is the target's own turn.
func (r *reconciler) rivals(ctx context.Context, t *target, here place) ([]string, error) {
	keys, err := r.namesakes(ctx, t)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(r.options.AttemptTime / 2)
	all := make([]namesake, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelRivals)
	for i, key := range keys {
		group.Go(func() (err error) {
			all[i], err = r.rival(ctx, key, here, until)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var found []string
	for i, other := range all {
		if other.why == "" {
			continue
		}
		found = append(found, keys[i].String()+" "+other.why)
		for _, pair := range [][2]set{{t.networks, other.networks}, {t.subnets, other.subnets}, {t.routers, other.routers}} {
			for id := range pair[1] {
				delete(pair[0], id)
			}
		}
	}
	return found, nil
}

// namesakes are the other clusters with the target's name.
func (r *reconciler) namesakes(ctx context.Context, t *target) (keys []types.NamespacedName, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(clusterKind())
	if err := r.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing OpenStackClusters: %w", err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		if key := client.ObjectKeyFromObject(other); key != t.key() && clusterName(other) == t.name {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// rival checks whether a cluster of the same name has to be taken into account. Its cloud must
// answer before until.
func (r *reconciler) rival(ctx context.Context, key types.NamespacedName, here place, until time.Time) (namesake, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterKind())
	if err := r.reader.Get(ctx, key, object); err != nil {
		return namesake{}, client.IgnoreNotFound(err)
	}
	other := namesake{target: read(object)}
	if ends, err := r.ends(ctx, other.target); err != nil || ends || other.neverProvisioned() {
		return namesake{}, err // it has nothing, or all of it is to go anyway
	}
	where, err := r.placeOfRival(ctx, other.target, until)
	var login *loginError
	switch {
	case errors.Is(err, errNoCredential), errors.As(err, &login):
		other.why = "may be in the same project: " + err.Error()
	case err != nil:
		return namesake{}, err
	case here.shares(where):
		other.why = "is in the same project"
	}
	return other, nil
}

// rivalTime is how long the cloud of another cluster may take to say which project the cluster is
// in.
const rivalTime = 15 * time.Second

// placeOfRival logs in to find out where another cluster is. If that is not possible, the error is
// errNoCredential or a loginError: a cluster must not wait for a cloud that may not be its own.
func (r *reconciler) placeOfRival(ctx context.Context, other target, until time.Time) (place, error) {
	credential, err := r.credential(ctx, other)
	if err != nil {
		return place{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(rivalTime, time.Until(until)))
	defer cancel()
	opened, token, err := credential.open(ctx)
	if err != nil {
		return place{}, &loginError{err}
	}
	defer opened.Close()
	return placeOf(opened, token), nil
}

// ends reports whether everything that another cluster has is to be deleted anyway. It is not if
// that cluster is deleted here because it lives on elsewhere, or if somebody holds it: an operator,
// or a rebuild that has not yet proved what is to become of it.
func (r *reconciler) ends(ctx context.Context, other target) (bool, error) {
	if other.object.GetDeletionTimestamp() == nil || moved(other.object) || !other.deletesVolumes(r.options) ||
		other.annotation(ReleaseAnnotation) == yes || other.annotation(DryRunAnnotation) == yes {
		return false, nil
	}
	held, err := r.hold(ctx, other)
	return err == nil && (held.reason == "" || held.reason == ReasonMachinesNotDeleted), err
}
