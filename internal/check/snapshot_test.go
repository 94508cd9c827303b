package check

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// snapshots checks the storage of a cluster without snapshots, with classes that do not serve,
// and with one that does.
func (w *world) snapshots(ctx context.Context, server *kubetest.Server) {
	w.Helper()
	w.storage(ctx, Skipped, "the cluster has no VolumeSnapshotClass")
	text, err := os.ReadFile(filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), "manifests", "snapshot-crds.yaml"))
	w.must(err)
	server.Serve(w.T, text)
	w.snapshotClass(ctx, "others", "another", "Delete")
	w.snapshotClass(ctx, "kept", "test", "Retain")
	w.storage(ctx, Skipped, "class kept keeps what a check makes, by its deletionPolicy")
	w.snapshotClass(ctx, "snap", "test", "Delete")
	within, stop := context.WithCancel(ctx)
	go w.snapshotter(within, `{"status": {"readyToUse": true}}`)
	w.storage(ctx, Passed, "class snap: restored and read on n1")
	stop()
	within, stop = context.WithCancel(ctx)
	defer stop()
	go w.snapshotter(within, `{"status": {"readyToUse": false, "error": {"message": "over the quota"}}}`)
	w.storage(ctx, Failed, "over the quota")
}

// storage checks the storage, and looks at the step with the snapshot.
func (w *world) storage(ctx context.Context, state, detail string) {
	w.Helper()
	o := w.options("storage")
	if state == Failed {
		o.Patience = 15 * time.Second
	}
	r, err := Run(ctx, o)
	if err != nil || len(r.Steps) != 4 || r.Passed != (state != Failed) {
		w.Errorf("the check: %+v, %v", r, err)
		return
	}
	if got := r.Steps[2]; got.Name != StepSnapshot || got.State != state || !strings.Contains(got.Detail, detail) {
		w.Errorf("the snapshot: %+v, want %s: %s", got, state, detail)
	}
	w.clean()
}

func (w *world) snapshotClass(ctx context.Context, name, driver, policy string) {
	w.Helper()
	text, err := json.Marshal(map[string]any{"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass", "metadata": map[string]any{"name": name}, "driver": driver, "deletionPolicy": policy})
	w.must(err)
	w.must(w.client.CoreV1().RESTClient().Post().AbsPath("/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses").SetHeader("Content-Type", "application/json").Body(text).Do(ctx).Error())
}

// snapshotter does what a controller and a CSI driver would: it says of all snapshots what
// became of them.
func (w *world) snapshotter(ctx context.Context, status string) {
	client := w.client.CoreV1().RESTClient()
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		var list struct{ Items []volumeSnapshot }
		text, err := client.Get().AbsPath("/apis/snapshot.storage.k8s.io/v1/volumesnapshots").Do(ctx).Raw()
		if err != nil || json.Unmarshal(text, &list) != nil {
			continue // again in a moment
		}
		for _, s := range list.Items {
			_ = client.Patch(types.MergePatchType).AbsPath("/apis/snapshot.storage.k8s.io/v1/namespaces", s.Metadata.Namespace, "volumesnapshots", s.Metadata.Name, "status").Body([]byte(status)).Do(ctx).Error()
		}
	}
}
