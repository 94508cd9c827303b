package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// asItIs judges a cluster without a release: what it is declared by stays its truth.
func (s Site) asItIs(ctx context.Context, c *Cluster) error {
	secret := &corev1.Secret{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: workload.RecordName(c.Name)}, secret)
	if err == nil && secret.Labels[workload.LabelCluster] == c.Name {
		c.MadeBy, c.Verdict, c.Problems = "adopted as it is", Ours, nil
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading Secret %s: %w", workload.RecordName(c.Name), err)
	}
	if c.Verdict != Refuse {
		c.Verdict = AsItIs
	}
	cluster := c.seen.cluster
	if kind := text(cluster, "spec", "infrastructureRef", "kind"); kind != "OpenStackCluster" {
		c.problem("its infrastructure is "+kind+", not OpenStackCluster", "Slipway manages clusters on OpenStack")
		return nil
	}
	infra, err := s.get(ctx, cloudKind.WithKind("OpenStackCluster"), c.Namespace, text(cluster, "spec", "infrastructureRef", "name"))
	if err != nil {
		return err
	}
	if infra == nil {
		c.problem("its OpenStackCluster "+text(cluster, "spec", "infrastructureRef", "name")+" is missing", "restore it from a backup")
		return nil
	}
	if c.plane() == nil {
		return nil
	}
	c.secretsThere(ownSecret(infra))
	class := text(cluster, "spec", "topology", "classRef", "name")
	switch {
	case class != "":
		c.MadeBy = "ClusterClass " + class
		c.Notes = append(c.Notes, "it has no values: change sizes and versions in spec.topology of its Cluster")
		if err := s.topology(ctx, c, class); err != nil {
			return err
		}
	case c.MadeBy == "":
		c.MadeBy = "clusterctl, or by hand"
		c.Notes = append(c.Notes, "it has no values: change it where its objects were declared")
	}
	c.Taken = append(c.Taken, nameOf(cluster), nameOf(infra), nameOf(c.seen.plane))
	for _, name := range sortedKeys(c.seen.deployments) {
		c.Taken = append(c.Taken, nameOf(c.seen.deployments[name]))
	}
	return nil
}

// ownSecret is the Secret in the cluster's namespace by which it logs in; empty if an
// OpenStackClusterIdentity names one elsewhere.
func ownSecret(infra *unstructured.Unstructured) string {
	if text(infra, "spec", "identityRef", "type") == "ClusterIdentity" {
		return ""
	}
	return text(infra, "spec", "identityRef", "name")
}

// recorded is what the Secret of a cluster that was adopted as it is says.
type recorded struct {
	MadeBy  string    `json:"madeBy"`
	Adopted time.Time `json:"adopted"`
	Taken   []string  `json:"taken"`
}

// record writes the Secret. It goes with the Cluster.
func (s Site) record(ctx context.Context, c *Cluster) (bool, error) {
	text, err := json.Marshal(recorded{c.MadeBy, time.Now().UTC(), c.Taken})
	if err != nil {
		return false, fmt.Errorf("writing the record: %w", err)
	}
	o := c.seen.cluster
	err = s.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: workload.RecordName(c.Name),
			Labels:          map[string]string{workload.LabelCluster: c.Name, labelName: c.Name, "app.kubernetes.io/managed-by": kube.FieldManager},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID()}}},
		Type: workload.RecordType, Data: map[string][]byte{"record": text}})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	return err == nil, err
}
