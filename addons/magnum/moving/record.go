package moving

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// record is what Magnum had of something when Slipway adopted it. It stays when the
// resource is deleted: a hand-back knows by it what was changed, here and there.
// It has no secrets: neither passwords of trustees nor keys.
type record struct {
	Template *database.Template   `json:"template,omitempty"`
	Quota    *database.Quota      `json:"quota,omitempty"`
	Cluster  *database.Cluster    `json:"cluster,omitempty"`
	Groups   []database.NodeGroup `json:"groups,omitempty"`
}

// recordKey is the ConfigMap's key of a record.
const recordKey = "magnum.json"

// The prefixes of the names of records.
const (
	recordTemplate = "moved-in-template-"
	recordCluster  = "moved-in-cluster-"
	recordQuota    = "moved-in-quota-"
)

func (r record) name() string {
	switch {
	case r.Template != nil:
		return recordTemplate + strings.ToLower(r.Template.UUID)
	case r.Cluster != nil:
		return recordCluster + strings.ToLower(r.Cluster.UUID)
	}
	return recordQuota + v1alpha1.QuotaName(r.Quota.Resource)
}

func (r record) project() string {
	switch {
	case r.Template != nil:
		return r.Template.ProjectID
	case r.Cluster != nil:
		return r.Cluster.ProjectID
	}
	return r.Quota.ProjectID
}

// remember writes the record of something that is about to be adopted; adopted completes it.
func (w *writer) remember(r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing a record: %w", err)
	}
	want := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(r.project()), Name: r.name(),
		Labels:      map[string]string{v1alpha1.LabelMovedIn: "true", v1alpha1.LabelProject: v1alpha1.LabelValue(r.project())},
		Annotations: map[string]string{v1alpha1.AnnotationAdopting: "true"}}, Data: map[string]string{recordKey: string(text)}}
	have := &corev1.ConfigMap{}
	err = w.client.Get(w.ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		err = w.client.Create(w.ctx, want)
	case err == nil && have.Data[recordKey] != string(text):
		have.Data, have.Labels = want.Data, want.Labels
		metav1.SetMetaDataAnnotation(&have.ObjectMeta, v1alpha1.AnnotationAdopting, "true")
		err = w.client.Update(w.ctx, have)
	}
	if err != nil {
		return fmt.Errorf("writing record %s/%s: %w", want.Namespace, want.Name, err)
	}
	return nil
}

// adopted notes that what a record is of is adopted.
func (w *writer) adopted(r record) error {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(r.project()), Name: r.name()}}
	complete := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationAdopting+`":null}}}`))
	if err := w.client.Patch(w.ctx, o, complete); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("completing record %s/%s: %w", o.Namespace, o.Name, err)
	}
	return nil
}

// kept is a record and where it is.
type kept struct {
	record
	object *corev1.ConfigMap
}

// pending says that a run ended between the record and adopting what it is of: a copy that is
// gone was deleted as a copy.
func (k *kept) pending() bool {
	return k != nil && k.object.Annotations[v1alpha1.AnnotationAdopting] != ""
}

// another says that a row is not the one that the record is of. Quotas have no UUID: who deletes
// one in Magnum may make one again.
func (k *kept) another(row *database.Quota) bool {
	return k != nil && k.Quota != nil && row != nil && k.Quota.ID != 0 && row.ID != 0 && k.Quota.ID != row.ID
}

// records are all there are, by namespace and name.
func (s Site) records(ctx context.Context) (map[client.ObjectKey]*kept, error) {
	list := &corev1.ConfigMapList{}
	if err := s.Client.List(ctx, list, client.MatchingLabels{v1alpha1.LabelMovedIn: "true"}); err != nil {
		return nil, fmt.Errorf("reading what was moved in: %w", err)
	}
	all := map[client.ObjectKey]*kept{}
	for i := range list.Items {
		o := &list.Items[i]
		k := &kept{object: o}
		if json.Unmarshal([]byte(o.Data[recordKey]), &k.record) != nil || k.Template == nil && k.Cluster == nil && k.Quota == nil {
			continue // as if there were none: what it is of is then refused
		}
		if k.name() == o.Name && v1alpha1.Namespace(k.project()) == o.Namespace {
			all[client.ObjectKeyFromObject(o)] = k
		}
	}
	return all, nil
}
