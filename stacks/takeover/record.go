package takeover

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
)

// The Secret with the record of a takeover. It is written before anything else is.
const (
	recordNamespace                   = "kube-system"
	recordName                        = "slipway-adopted-environment"
	recordType      corev1.SecretType = "slipway.sh/adopted-environment"
	recordKey                         = "record"
)

// record is what a takeover needs to go on, and to be given back.
type record struct {
	Environment string   `json:"environment,omitempty"`
	Settings    settings `json:"settings"`
	// Before are the objects that the takeover changes, or replaces, as they were.
	Before []*unstructured.Unstructured `json:"before,omitempty"`
	// Complete is set when Slipway's controllers run and nothing is left to do.
	Complete bool `json:"complete"`

	stored bool
}

// before is an object as it was, nil if it was not there.
func (r *record) before(kind, namespace, name string) *unstructured.Unstructured {
	for _, o := range r.Before {
		if o.GetKind() == kind && o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return nil
}

// readRecord returns the record, nil if the cluster was not taken over.
func (c *Cluster) readRecord(ctx context.Context) (*record, error) {
	secret, err := c.site.Kube.Typed.CoreV1().Secrets(recordNamespace).Get(ctx, recordName, metav1.GetOptions{})
	if kube.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", recordName, err)
	}
	r := &record{stored: true}
	if err := json.Unmarshal(secret.Data[recordKey], r); err != nil || secret.Type != recordType {
		c.problem("Secret "+recordNamespace+"/"+recordName, "restore it from a backup; it says how the environment was before it was adopted", "it is not the record of an adoption")
		return nil, nil
	}
	return r, nil
}

// keep writes the record: first with all objects as they are that will be changed.
func (c *Cluster) keep(ctx context.Context, environment string) error {
	r := c.record
	if !r.stored {
		for _, wanted := range c.wanted {
			live, err := c.live(ctx, wanted)
			if err != nil {
				return err
			}
			if live != nil {
				live.SetManagedFields(nil)
				r.Before = append(r.Before, live)
			}
		}
		r.Environment = environment
	}
	return c.writeRecord(ctx)
}

func (c *Cluster) writeRecord(ctx context.Context) error {
	text, err := json.Marshal(c.record)
	if err != nil {
		return fmt.Errorf("encoding the record: %w", err)
	}
	secrets := c.site.Kube.Typed.CoreV1().Secrets(recordNamespace)
	wanted := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: recordNamespace, Name: recordName, Labels: map[string]string{partOf: "slipway"}},
		Type: recordType, Data: map[string][]byte{recordKey: text}}
	if c.record.stored {
		_, err = secrets.Update(ctx, wanted, metav1.UpdateOptions{})
	} else {
		_, err = secrets.Create(ctx, wanted, metav1.CreateOptions{}) // another run at the same time is refused here
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", recordName, err)
	}
	c.record.stored = true
	return nil
}
