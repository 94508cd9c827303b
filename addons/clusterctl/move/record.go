package move

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/kube"
)

// Place is where the objects are.
type Place string

// The places.
const (
	Seed       Place = "seed"
	Management Place = "management"
)

// phase is how far a move is.
type phase string

const (
	// copying: everything is still where it was, and there may be copies.
	copying phase = "copying"
	// deleting: everything has arrived, and what is left behind is deleted.
	deleting phase = "deleting"
	// rested: no move is in progress.
	rested phase = "rested"
)

// Record is what a later run knows of a move. It is kept on the seed, in a
// Secret beside where the objects were, for as long as they are not there.
type Record struct {
	To    Place `json:"to"`
	Phase phase `json:"phase"`
	// Objects are the objects that arrived, in phase deleting.
	Objects inventory `json:"objects,omitempty"`
	// Kubeconfig is that of the management cluster: on the seed nothing else tells where the
	// objects are.
	Kubeconfig string `json:"-"`
}

// Place returns where the objects are, in every phase: they count as arrived once all of them are.
func (r *Record) Place() Place {
	switch {
	case r == nil:
		return Seed
	case r.Phase == copying && r.To == Seed:
		return Management
	case r.Phase == copying:
		return Seed
	}
	return r.To
}

// Done reports whether no move is in progress.
func (r *Record) Done() bool { return r == nil || r.Phase == rested }

const (
	recordKey     = "record"
	kubeconfigKey = "kubeconfig"
)

func recordName(cluster types.NamespacedName) string { return "slipway-move-" + cluster.Name }

// Read reads the record of a cluster on the seed; nil means that its objects never left.
func Read(ctx context.Context, seed *kube.Cluster, cluster types.NamespacedName) (*Record, error) {
	secret, err := seed.Typed.CoreV1().Secrets(cluster.Namespace).Get(ctx, recordName(cluster), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading where the objects of %s are: %w", cluster, err)
	}
	r := &Record{Kubeconfig: string(secret.Data[kubeconfigKey])}
	if err := json.Unmarshal(secret.Data[recordKey], r); err != nil {
		return nil, fmt.Errorf("reading where the objects of %s are: %w", cluster, err)
	}
	return r, nil
}

// write saves the record. It deletes a record that says what also holds without one.
func (m Move) write(ctx context.Context, r Record) error {
	secrets := m.Seed.Kube.Typed.CoreV1().Secrets(m.Cluster.Namespace)
	if r.Phase == rested && r.To == Seed {
		err := secrets.Delete(ctx, recordName(m.Cluster), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting the record of the pivot: %w", err)
		}
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("recording the pivot: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.Cluster.Namespace, Name: recordName(m.Cluster)},
		Data: map[string][]byte{recordKey: text, kubeconfigKey: []byte(m.Kubeconfig)}}
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: kube.FieldManager})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: kube.FieldManager})
	}
	if err != nil {
		return fmt.Errorf("recording the pivot: %w", err)
	}
	return nil
}
