package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
)

// Leftover tells whether it is in vain to wait until objects of a cluster are gone that
// outlive its Cluster, or that never had one. It asks the cloud with their credential.
type Leftover struct {
	ask func(context.Context, objects) *cause.Cloud
	// heard are the events of the namespace, where CAPO says what it cannot delete.
	heard    *hearer
	hopeless vain.Watch
}

// NewLeftover returns one for the cluster of a name.
func NewLeftover(client dynamic.Interface, namespace, name string) *Leftover {
	asked := newAsker(client, namespace, name)
	asked.find = leftLogin
	return &Leftover{ask: asked.said, heard: &hearer{client: client, namespace: namespace}}
}

// Vain is asked again and again with what is left. It returns the cause, once that has kept
// the objects from being deleted for a while and does not pass.
func (l *Leftover) Vain(ctx context.Context, left []*unstructured.Unstructured) error {
	known, scene := objects{}, cause.Objects{}
	for _, o := range left {
		scene[o.GetKind()] = append(scene[o.GetKind()], o)
		switch o.GetKind() {
		case "OpenStackCluster":
			known[openStackClusters] = append(known[openStackClusters], o)
		case "ServerGroup":
			known[serverGroups] = append(known[serverGroups], o)
		}
	}
	if l.heard != nil {
		l.heard.add(ctx, known)
		scene["Event"] = known[eventKind]
	}
	f, found := keeping(cause.Explain(cause.Snapshot{Objects: scene, Cloud: l.ask(ctx, known), Now: time.Now()}).Findings)
	if !l.hopeless.Over(found) {
		return nil
	}
	what := "an object"
	if len(left) > 0 {
		what = left[0].GetKind() + " " + left[0].GetName()
	}
	return fault.New(f.Object.String(), fmt.Errorf("deleting %s: %w", what, errors.New(f.Cause)), f.Fix+"; then run the same command again")
}

// keeping is the first finding that keeps objects from being deleted, and stays. What kept
// an object from being created does not keep it from being deleted.
func keeping(all []cause.Finding) (cause.Finding, bool) {
	for _, f := range all {
		if slices.Contains(blocks(), f.Reason) && f.Ending != cause.Passing {
			return f, true
		}
	}
	return cause.Finding{}, false
}

// leftLogin is how the cluster of what is left logs in.
func leftLogin(o objects) identity {
	for _, cluster := range o[openStackClusters] {
		return identityIn(cluster)
	}
	for _, group := range o[serverGroups] {
		return identity{name: text(group, "spec", "cloudCredentialsRef", "secretName"), entry: text(group, "spec", "cloudCredentialsRef", "cloudName")}
	}
	return identity{}
}
