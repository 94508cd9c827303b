package adopt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// adoptedFrom begins the description of the revision that an adoption writes.
const adoptedFrom = "adopted from "

// HandBack undoes the adoption of a cluster that was not changed since: its release is
// again that of its chart, or its record is removed. Nothing else is written.
func (s Site) HandBack(ctx context.Context, name, namespace string) (workload.Key, error) {
	all, err := s.find(ctx, name, namespace)
	if err != nil {
		return workload.Key{}, err
	}
	if len(all) != 1 {
		return workload.Key{}, fault.Usage("cluster "+name, fmt.Errorf("%d clusters have this name", len(all)), "say which with --namespace; see slipway cluster list")
	}
	f := all[0]
	object := "cluster " + f.key.String()
	if f.release == nil {
		return f.key, s.forget(ctx, f)
	}
	if f.release.Labels[workload.LabelCluster] != name || f.release.Config[valueAdopted] == nil {
		return f.key, fault.New(object, errors.New("it was not adopted"), "only clusters that slipway adopt cluster took over can be handed back")
	}
	if !strings.HasPrefix(f.release.Info.Description, adoptedFrom) {
		return f.key, fault.New(object, fmt.Errorf("Slipway changed it since (revision %d of its release): the old chart would undo that, or replace machines", f.release.Version),
			"keep it, or bring its values into the old chart by hand: helm history "+name+" -n "+f.key.Namespace)
	}
	if err := s.Releases.GiveBack(f.release); err != nil {
		return f.key, fmt.Errorf("handing back %s: %w", object, err)
	}
	return f.key, nil
}

// forget removes the record of a cluster that was adopted as it is.
func (s Site) forget(ctx context.Context, f found) error {
	secret := &corev1.Secret{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: f.key.Namespace, Name: workload.RecordName(f.key.Name)}, secret)
	if gone(err) || err == nil && (secret.Type != workload.RecordType || secret.Labels[workload.LabelCluster] != f.key.Name) {
		return fault.New("cluster "+f.key.String(), errors.New("it was not adopted"), "only clusters that slipway adopt cluster took over can be handed back")
	}
	if err != nil {
		return fmt.Errorf("reading Secret %s: %w", workload.RecordName(f.key.Name), err)
	}
	uid := secret.UID
	return s.Client.Delete(ctx, secret, client.Preconditions(metav1.Preconditions{UID: &uid}))
}
