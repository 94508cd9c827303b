package workload

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/fault"
)

// twins makes no second cluster of a name by mistake: whoever forgets --namespace means the one
// that is there, such as one that was adopted.
func twins(w *world) {
	c := wanted(w.T, "twin", small)
	c.Namespace = "twin-home"
	first, _ := w.create(c)
	c.Namespace = ""
	_, _, err := w.Create(w.Context(), w.cloud, c, func(string) {})
	if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "a cluster of this name is in namespace twin-home") || !strings.Contains(fault.Remedy(err), "--namespace twin-home") {
		w.Errorf("without --namespace: %v (%s)", err, fault.Remedy(err))
	}
	if _, err := w.Kube.Typed.CoreV1().Namespaces().Get(w.Context(), "twin", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("something was made: %v", err)
	}
	c.Namespace = first.Namespace
	if _, change := w.create(c); change != Unchanged {
		w.Errorf("with its namespace: %s", change)
	}
	c.Namespace = "twin"
	if second, change := w.create(c); change != Created || second.Namespace != "twin" {
		w.Errorf("with another one: %s, %s", second, change)
	}
	c.Namespace = ""
	if own, change := w.create(c); change != Unchanged || own.Namespace != "twin" {
		w.Errorf("that one again: %s, %s", own, change)
	}
}
