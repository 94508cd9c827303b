package workload

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/kube"
)

// TestRevokingSaysWhatStays, and ends where Kubernetes does not answer.
func TestRevokingSaysWhatStays(t *testing.T) {
	t.Parallel()
	box, c := openCloud(t)
	client := fake.NewClientset()
	m := &Management{Environment: "prod", Kube: &kube.Cluster{Typed: client}}
	key := Key{Namespace: "c1", Name: "c1"}
	create, get, remove := answers(client, "create"), answers(client, "get"), answers(client, "delete")
	create(errAway)
	if changed, err := m.ensureCredential(t.Context(), c, key); changed || err == nil || err.Error() != "writing the credential's Secret: the API server is away" {
		t.Errorf("made: %t, %v", changed, err)
	}
	create(nil)
	get(errAway)
	if changed, err := m.ensureCredential(t.Context(), c, key); changed || !errors.Is(err, errAway) {
		t.Errorf("made: %t, %v", changed, err)
	}
	if notes, err := m.revoke(t.Context(), c, key, silent); err == nil || err.Error() != "reading the credential's Secret: the API server is away" || notes != nil {
		t.Errorf("revoked: %q, %v", notes, err)
	}
	get(nil)
	if _, err := m.ensureCredential(t.Context(), c, key); err != nil {
		t.Fatal(err)
	}
	secret, err := m.credentialSecret(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	id := idsIn(secret)[0]
	secret.Annotations[annotationUser] = "another"
	if _, err := client.CoreV1().Secrets("c1").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	remove(errAway)
	want := "application credential " + id + " stays: only user another, who created it, can delete it"
	if notes, err := m.revoke(t.Context(), c, key, silent); err == nil || err.Error() != "deleting the credential's Secret: the API server is away" || !slices.Equal(notes, []string{want}) {
		t.Errorf("revoked: %q, %v", notes, err)
	}
	remove(nil)
	if notes, err := m.revoke(t.Context(), c, key, silent); err != nil || !slices.Equal(notes, []string{want}) {
		t.Errorf("revoked: %q, %v", notes, err)
	}
	if ids := credentialsOf(t, box, c, "c1"); len(ids) > 0 {
		t.Errorf("credentials %v", ids)
	}
	if notes, err := m.revoke(t.Context(), c, key, silent); err != nil || notes != nil {
		t.Errorf("what is gone: %q, %v", notes, err)
	}
}

// TestAWaitEndsWithItsContext, and is none where nothing is left of the time.
func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errKilled)
		begun := time.Now()
		if err := errors.Join(pause(ended, 0), pause(ended, -time.Second)); err != nil || time.Since(begun) != 0 {
			t.Errorf("nothing left: %v after %s", err, time.Since(begun))
		}
		if err := pause(ended, time.Hour); !errors.Is(err, errKilled) || time.Since(begun) != 0 {
			t.Errorf("ended: %v after %s", err, time.Since(begun))
		}
		if err := pause(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("an hour: %v after %s", err, time.Since(begun))
		}
	})
}
