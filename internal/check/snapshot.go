package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/internal/check/inside"
)

const (
	// snapshotGroup has snapshots of volumes, whose definitions a cluster need not have.
	snapshotGroup = "snapshot.storage.k8s.io"
	// defaultSnapshotClass marks the VolumeSnapshotClass that is used where none is named.
	defaultSnapshotClass = "snapshot.storage.kubernetes.io/is-default-class"
)

const (
	snapshot = "data"
	restored = "restored"
)

// snapshotClass is what the check reads of a VolumeSnapshotClass.
type snapshotClass struct {
	Metadata       metav1.ObjectMeta `json:"metadata"`
	Driver         string            `json:"driver"`
	DeletionPolicy string            `json:"deletionPolicy"`
}

// volumeSnapshot is what the check writes and reads of a VolumeSnapshot.
type volumeSnapshot struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            struct {
		Class  string `json:"volumeSnapshotClassName"`
		Source struct {
			Claim string `json:"persistentVolumeClaimName"`
		} `json:"source"`
	} `json:"spec"`
	Status struct {
		Ready bool `json:"readyToUse"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	} `json:"status,omitzero"`
}

// snapshot makes a snapshot of the volume that was written, restores it into another one,
// and reads that.
func (r *run) snapshot(ctx context.Context) (string, error) {
	class, err := r.class(ctx)
	if err != nil {
		return "", err
	}
	of, err := r.snapshotClass(ctx, class)
	if err != nil {
		return "", err
	}
	if r.written == "" {
		return "", errSkip("no volume was written")
	}
	// Not every driver and class takes a snapshot of a volume that is in use.
	if err := r.Client.CoreV1().Pods(r.namespace).Delete(ctx, "reader", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("ending the pod that read: %w", err)
	}
	if err := r.takeSnapshot(ctx, of); err != nil {
		return "", fmt.Errorf("making a snapshot of class %s: %w", of, err)
	}
	if err := r.claim(ctx, restored, class, &corev1.TypedLocalObjectReference{APIGroup: ptr.To(snapshotGroup), Kind: "VolumeSnapshot", Name: snapshot}); err != nil {
		return "", fmt.Errorf("restoring the snapshot: %w", err)
	}
	reader, err := r.withVolume(ctx, restored, restored, "")
	got := ""
	if err == nil {
		got, err = r.Ask(ctx, r.namespace, reader.name, inside.PathRead, url.Values{"token": {r.token}})
	}
	if err != nil {
		return "", fmt.Errorf("reading the restored volume: %w", err)
	}
	if got != r.written {
		return "", fmt.Errorf("node %s reads something else in the restored volume than was written", reader.node)
	}
	return fmt.Sprintf("class %s: restored and read on %s", of, reader.node), nil
}

// snapshotClass is a class for snapshots of volumes of a storage class: rather the default
// one, and none that leaves snapshots in the cloud.
func (r *run) snapshotClass(ctx context.Context, storage string) (string, error) {
	var list struct{ Items []snapshotClass }
	text, err := r.Client.CoreV1().RESTClient().Get().AbsPath("/apis/" + snapshotGroup + "/v1/volumesnapshotclasses").Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0 {
		return "", errSkip("the cluster has no VolumeSnapshotClass")
	}
	if err != nil {
		return "", fmt.Errorf("listing classes of snapshots: %w", err)
	}
	provisioner, err := r.Client.StorageV1().StorageClasses().Get(ctx, storage, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading storage class %s: %w", storage, err)
	}
	found, why := "", errSkip("no VolumeSnapshotClass is of driver "+provisioner.Provisioner)
	for _, c := range list.Items {
		switch {
		case c.Driver != provisioner.Provisioner:
		case c.DeletionPolicy != "Delete":
			why = errSkip("class " + c.Metadata.Name + " keeps what a check makes, by its deletionPolicy")
		case found == "" || c.Metadata.Annotations[defaultSnapshotClass] == "true":
			found = c.Metadata.Name
		}
	}
	if found == "" {
		return "", why
	}
	return found, nil
}

// takeSnapshot makes a snapshot of the volume, and waits until it can be used.
func (r *run) takeSnapshot(ctx context.Context, class string) error {
	wanted := volumeSnapshot{TypeMeta: metav1.TypeMeta{APIVersion: snapshotGroup + "/v1", Kind: "VolumeSnapshot"}, Metadata: metav1.ObjectMeta{Name: snapshot}}
	wanted.Spec.Class, wanted.Spec.Source.Claim = class, claim
	text, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	path := "/apis/" + snapshotGroup + "/v1/namespaces/" + r.namespace + "/volumesnapshots"
	client := r.Client.CoreV1().RESTClient()
	if err := client.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(text).Do(ctx).Error(); err != nil {
		return err
	}
	last := ""
	err = r.until(ctx, func() (bool, error) {
		var now volumeSnapshot
		text, err := client.Get().AbsPath(path, snapshot).Do(ctx).Raw()
		if err == nil {
			err = json.Unmarshal(text, &now)
		}
		last = now.Status.Error.Message
		return now.Status.Ready, err
	})
	if err != nil && last != "" {
		err = fmt.Errorf("%w: %s", err, last)
	}
	if err != nil {
		return errors.Join(err, r.lastWarning(context.WithoutCancel(ctx)))
	}
	return nil
}
