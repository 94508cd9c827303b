package workload

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
)

// A credential is lost if its Secret is gone, has nothing that one could log in with, or if
// Keystone refuses it. Nobody can read the secret of an application credential again, so a
// lost one is replaced as in a rotation, and found by its ownership tag to be revoked.

// lost reports whether a cluster's credential is. The Secret is nil if there is none.
func (m *Management) lost(ctx context.Context, c Cloud, key Key) (secret *corev1.Secret, lost bool, err error) {
	if secret, err = m.credentialSecret(ctx, key); err != nil || secret == nil {
		return nil, err == nil, err
	}
	works, err := c.works(ctx, secret)
	return secret, err == nil && !works, err
}

// renewCredential replaces the credential of an existing cluster if it is lost. pending
// reports that the cluster itself may still have the former one: endRotation does the rest,
// also of a run that was killed.
func (m *Management) renewCredential(ctx context.Context, c Cloud, key Key, progress func(string)) (changed, pending bool, err error) {
	secret, lost, err := m.lost(ctx, c, key)
	if err != nil || !lost {
		return false, err == nil && formerOf(secret).Lost, err
	}
	if secret, err = m.replaceCredential(ctx, c, key); err != nil {
		return false, false, err
	}
	m.nudge(ctx, key, secret, progress)
	return true, true, nil
}

// handOut gives a cluster the credential that replaced a lost one.
func (m *Management) handOut(ctx context.Context, c Cloud, key Key, progress func(string)) error {
	there, err := m.look(ctx, key)
	if err != nil {
		return err
	}
	secret, err := m.credentialSecret(ctx, key)
	if err != nil || secret == nil {
		return err
	}
	r, err := m.endRotation(ctx, c, key, there, secret, MinOverlap, progress)
	for _, note := range r.Notes {
		progress(note)
	}
	return err
}

// lendCredential gives a cluster that is to be deleted a new credential if its own is lost:
// without one, nothing that it has in OpenStack can be deleted.
func (m *Management) lendCredential(ctx context.Context, c Cloud, key Key, progress func(string)) error {
	there, err := m.look(ctx, key)
	if err != nil || !there.exists && there.release == nil || !there.usesOwn(key) {
		return err
	}
	secret, lost, err := m.lost(ctx, c, key)
	if err != nil || !lost {
		return err
	}
	progress("creating an application credential for the deletion")
	if secret, err = m.replaceCredential(ctx, c, key); err != nil {
		return err
	}
	m.nudge(ctx, key, secret, progress)
	return nil
}

// usesOwn reports whether a cluster logs in with the credential that this package makes.
func (k known) usesOwn(key Key) bool {
	uses := SecretName(key.Name)
	if k.release != nil {
		uses, _ = k.release.Config[valueSecretName].(string)
	}
	return k.origin == Ours && !k.asItIs && uses == SecretName(key.Name)
}

// nudge tells Cluster API's provider that there is another credential. If that fails it finds
// out by itself, later.
func (m *Management) nudge(ctx context.Context, key Key, secret *corev1.Secret, progress func(string)) {
	if err := clusterapi.Nudge(ctx, m.Kube.Dynamic, key.Namespace, key.Name, annotationCredential, idIn(secret.Data[keyClouds])); err != nil {
		progress("Cluster API uses the new credential when it looks at the cluster again, within minutes: " + err.Error())
	}
}

// notDeleting refuses clusters that are being deleted: their deletion gives them what it needs.
func (m *Management) notDeleting(ctx context.Context, key Key) error {
	reports, err := clusterapi.Read(ctx, m.Kube.Dynamic, key.Namespace)
	if err != nil {
		return err
	}
	for _, r := range reports {
		if r.Name == key.Name && r.State() == clusterapi.StateDeleting {
			return fault.New(object(key), errors.New("it is being deleted"), "run slipway cluster delete "+key.Name+": it makes a new credential if the cluster has none that works")
		}
	}
	return nil
}

// others says which credential of another user a cluster had, if it was lost with its Secret
// and still logs in: the ownership tag leads only to one's own. had is the Secret on the
// cluster, known are the IDs of one's own.
func others(ctx context.Context, had *corev1.Secret, known []string) (notes []string) {
	id := ""
	if had != nil {
		id = idIn(had.Data[keyClouds])
	}
	if id == "" || slices.Contains(known, id) {
		return nil
	}
	if works, err := loginWorks(ctx, had.Data[keyClouds], had.Data[keyAuthority]); err != nil || !works {
		return nil
	}
	return []string{"application credential " + id + ", which the cluster had, stays: only the user who created it can delete it"}
}
