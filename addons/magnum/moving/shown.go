package moving

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/magnum/moving/certstore"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
)

// systemNamespace is where magnum-cluster-api keeps the clusters of all projects.
const systemNamespace = "magnum-system"

// clusterAPI judges a cluster of magnum-cluster-api. Its ClusterClass is its
// driver's, and its objects are not in its project's namespace: it is shown.
func (j *judge) clusterAPI(c *Cluster, t database.Template) error {
	var err error
	if c.look, err = j.site.see(j.ctx, systemNamespace, c.StackID); err != nil {
		return err
	}
	if c.look.cluster == nil {
		c.problem("Cluster API has no Cluster "+c.StackID+" in namespace "+systemNamespace, otherPlace)
		return nil
	}
	class, _, _ := unstructured.NestedString(c.look.cluster.Object, "spec", "topology", "classRef", "name")
	c.show(fmt.Sprintf("it is of ClusterClass %q in namespace %s, which only magnum-cluster-api manages: keep its conductor running, or build the cluster again", class, systemNamespace))
	c.copies = c.copy(t)
	for _, kind := range []string{"ca", "etcd", "proxy"} {
		secret := c.look.secrets[kind]
		if secret == nil {
			c.problem("its Secret "+systemNamespace+"/"+c.StackID+"-"+kind+" is missing", "restore it; without it no certificates can be signed")
			continue
		}
		c.authority(kind, secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	}
	return nil
}

// heat judges a cluster of the Heat drivers: its authorities come out of Magnum's
// certificate store, so that kubeconfigs can still be made.
func (j *judge) heat(c *Cluster, t database.Template) error {
	c.show("its machines are a stack of Heat: keep Heat, change and delete the cluster there by hand, or build it again")
	if j.db.Partial {
		c.problem("Magnum's API does not show its certificate authority, so no kubeconfig could be made for it", "move it in from Magnum's database: --from-database")
		return nil
	}
	c.copies = c.copy(t)
	for _, one := range []struct{ kind, reference string }{{"ca", c.row.CARef}, {"etcd", c.row.EtcdRef}, {"proxy", c.row.FrontProxyRef}} {
		if one.reference == "" && one.kind != "ca" {
			continue // clusters of before 2020 have one authority
		}
		certificate, key, err := j.pair(one.reference)
		if err != nil {
			c.problem("its certificate authority "+one.kind+" cannot be read: "+err.Error(), remedyOf(err))
			continue
		}
		c.authority(one.kind, certificate, key)
	}
	return nil
}

func remedyOf(err error) string {
	if remedy := fault.Remedy(err); remedy != "" {
		return remedy
	}
	return dumpAgain
}

// pair reads an authority from the store, its key without passphrase.
func (j *judge) pair(reference string) (certificate, key []byte, err error) {
	if reference == "" {
		return nil, nil, errors.New("the database names none")
	}
	store := j.site.Store
	if store == nil {
		store = inDatabase{j.db}
	}
	pair, err := store.Pair(j.ctx, reference)
	if err != nil {
		return nil, nil, err
	}
	return certstore.Open(pair)
}

// inDatabase is the store x509keypair.
type inDatabase struct{ db *database.Database }

// Pair finds a row of x509keypair.
func (d inDatabase) Pair(_ context.Context, reference string) (database.KeyPair, error) {
	pair, ok := d.db.KeyPairs[reference]
	if !ok {
		return pair, fault.New("certificate "+reference, errors.New("table x509keypair does not have it"),
			"if Magnum keeps certificates elsewhere (cert_manager_type), name the store with --certificates")
	}
	return pair, nil
}

// show makes the cluster one that is only shown.
func (c *Cluster) show(why string) {
	if c.Verdict == Adopt {
		c.Verdict = Show
	}
	c.Notes = append(c.Notes, why)
}

// authority adds the Secret of a certificate authority to the copies.
func (c *Cluster) authority(kind string, certificate, key []byte) {
	o := c.copies.cluster
	c.copies.secrets = append(c.copies.secrets, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: c.StackID + "-" + kind, Annotations: map[string]string{v1alpha1.AnnotationHeld: c.heldBy()},
			Labels: map[string]string{v1alpha1.LabelProject: v1alpha1.LabelValue(c.ProjectID), v1alpha1.LabelCluster: v1alpha1.LabelValue(c.UUID)}},
		Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}})
}

// sameCertificate compares what PEM is around.
func sameCertificate(a, b []byte) bool {
	x, _ := pem.Decode(a)
	y, _ := pem.Decode(b)
	return x != nil && y != nil && bytes.Equal(x.Bytes, y.Bytes)
}
