package clusterapi

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// A Machine whose server is gone waits for nothing: no drain, no volumes, and not for the
// control plane's controller, which adds its hook as long as the Machine is not being deleted
// and refuses to let go of the last but one control plane node.
func TestALostMachineWaitsForNothing(t *testing.T) {
	t.Parallel()
	const hook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup"
	client := parent(t, `machines
metadata: {name: lost, annotations: {`+hook+`: ""}}
`)
	deleted := false
	client.PrependReactor("delete", "machines", func(clienttesting.Action) (bool, runtime.Object, error) {
		deleted = true
		return true, nil, nil // its finalizer keeps it
	})
	client.PrependReactor("patch", "machines", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if patch := string(a.(clienttesting.PatchAction).GetPatch()); patch == withoutHook && !deleted {
			t.Error("the hook is taken away too early: the controller would bring it back")
		}
		return false, nil, nil
	})
	for range 2 { // a run that goes on
		if err := DeleteLostMachine(t.Context(), client, in, "lost"); err != nil {
			t.Fatal(err)
		}
	}
	left, err := client.Resource(machines).Namespace(in).Get(t.Context(), "lost", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	annotations := left.GetAnnotations()
	if _, waits := annotations[hook]; waits || len(annotations) != 2 || !deleted {
		t.Errorf("deleted %t, annotations %v", deleted, annotations)
	}
	if err := DeleteLostMachine(t.Context(), client, in, "gone"); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}
