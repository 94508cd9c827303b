package velero_test

import (
	"bytes"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/velero"
)

// asked is the backup that is asked for; keptFile is what each has of default.
const (
	asked    = "asked"
	keptFile = "resources/configmaps/namespaces/default/kept.json"
)

// TestVelero: with the settings of S3 the location is Available. A paused Schedule is there and
// nothing is due, but a backup that is asked for from it has its template. Enabled, it makes
// backups that are complete, with nothing but the rights that were given. A restore needs more
// rights, which the settings give. Removed, Velero has none left.
func TestVelero(t *testing.T) {
	t.Parallel()
	// proves: F54, F55
	w := newWorld(t, velero.Schedule{Cron: "* * * * *", Paused: true, KeepFor: "24h0m0s", Namespaces: []string{"default"}})
	w.keep("kept")
	w.serve()
	w.await("BackupStorageLocation", "Available", "")
	w.paused()
	w.enabled()
	w.restores()
	w.removed()
}

// paused expects nothing to be due for more than a minute, and asks for a backup.
func (w *world) paused() {
	w.Helper()
	schedules := w.list("Schedule")
	if len(schedules) != 1 || schedules[0].GetName() != velero.Location {
		w.Fatalf("Schedules: %v", schedules)
	}
	if paused, _, _ := unstructured.NestedBool(schedules[0].Object, "spec", "paused"); !paused {
		w.Error("the Schedule is not paused")
	}
	time.Sleep(75 * time.Second) // its cron would be due
	if made := w.list("Backup"); len(made) != 0 {
		w.Fatalf("a paused Schedule made %s", made[0].GetName())
	}
	w.run("backup", "create", asked, "--from-schedule", velero.Location)
	made := w.await("Backup", "Completed", "")
	ttl, _, _ := unstructured.NestedString(made.Object, "spec", "ttl")
	if made.GetName() != asked || made.GetLabels()["velero.io/schedule-name"] != velero.Location || ttl != "24h0m0s" {
		w.Errorf("%s with ttl %s and labels %v", made.GetName(), ttl, made.GetLabels())
	}
	if list := w.stored(asked); !bytes.Contains(list, []byte(keptFile)) || bytes.Contains(list, []byte("namespaces/kube-system/")) {
		w.Errorf("the backup is not of the template's namespaces:\n%.2000s", list)
	}
}

// enabled expects a backup of everything that nobody asked for, made without the right to
// write outside of Velero's namespace.
func (w *world) enabled() {
	w.Helper()
	w.settings.Schedule.Paused, w.settings.Schedule.Namespaces = false, nil
	w.fine(velero.Apply(w.Context(), w.on, w.definitions, w.settings))
	w.await("Schedule", "Enabled", "")
	made := w.await("Backup", "Completed", asked)
	if made.GetLabels()["velero.io/schedule-name"] != velero.Location {
		w.Errorf("%s is not of the Schedule: %v", made.GetName(), made.GetLabels())
	}
	if list := w.stored(made.GetName()); !bytes.Contains(list, []byte(keptFile)) || !bytes.Contains(list, []byte("namespaces/kube-system/")) {
		w.Errorf("the backup lacks objects:\n%.2000s", list)
	}
	if problems, _, _ := unstructured.NestedInt64(made.Object, "status", "errors"); problems != 0 {
		w.Errorf("%d errors", problems)
	}
	intruder := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "intruder"}}
	if _, err := w.itself().Typed.CoreV1().ConfigMaps("default").Create(w.Context(), intruder, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		w.Errorf("Velero writes into another namespace: %v", err)
	}
}

// restores deletes an object and has Velero bring it back.
func (w *world) restores() {
	w.Helper()
	w.settings.Restore, w.settings.Schedule.Paused = true, true
	w.fine(velero.Apply(w.Context(), w.on, w.definitions, w.settings))
	maps := w.on.Typed.CoreV1().ConfigMaps("default")
	w.fine(maps.Delete(w.Context(), "kept", metav1.DeleteOptions{}))
	w.run("restore", "create", "back", "--from-backup", asked, "--include-namespaces", "default")
	w.await("Restore", "Completed", "")
	if found, err := maps.Get(w.Context(), "kept", metav1.GetOptions{}); err != nil || found.Data["a"] != "b" {
		w.Errorf("the object is not back: %v", err)
	}
	w.settings.Restore = false
	w.fine(velero.Apply(w.Context(), w.on, w.definitions, w.settings))
	w.refused("writes", func() error {
		return w.itself().Typed.CoreV1().ConfigMaps("default").Delete(w.Context(), "kept", metav1.DeleteOptions{})
	})
}

// removed expects that nothing is left that Velero could read with.
func (w *world) removed() {
	w.Helper()
	for range 2 { // the second time nothing is there
		w.fine(velero.Remove(w.Context(), w.on))
	}
	w.refused("reads", func() error {
		_, err := w.itself().Typed.CoreV1().Secrets("default").List(w.Context(), metav1.ListOptions{})
		return err
	})
	if _, err := w.on.Typed.CoreV1().Secrets(velero.Namespace).Get(w.Context(), velero.Login, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("the login of S3 is still there: %v", err)
	}
}
