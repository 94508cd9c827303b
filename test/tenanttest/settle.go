package tenanttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Cluster makes a cluster in shop that is ready, and returns its UUID.
func (w *World) Cluster(name, template string) string {
	w.T.Helper()
	two := 2
	id, err := clusters.Create(w.T.Context(), w.API(Member, "shop"), clusters.CreateOpts{Name: name, ClusterTemplateID: template, NodeCount: &two}).Extract()
	w.must(err)
	w.Settle(id)
	return id
}

// View is what the Magnum API knows of a cluster; nil if it is gone.
func (w *World) View(uuid string) *inventory.View {
	views := w.Stock.FindClusters(uuid, "")
	if len(views) != 1 {
		return nil
	}
	return views[0]
}

// Settle does the controllers' work: what is wanted is there. change may make it something
// else.
func (w *World) Settle(uuid string, change ...func(*v1alpha1.Cluster)) {
	w.T.Helper()
	w.Await("the cluster", func() bool { return w.View(uuid) != nil })
	v := w.View(uuid)
	for _, g := range v.Groups {
		w.settleGroup(g.DeepCopy())
	}
	c := v.Cluster.DeepCopy()
	if c.DeletionTimestamp != nil {
		c.Finalizers = nil
		w.must(w.Kube.Update(w.T.Context(), c))
		w.Await("the end of the cluster", func() bool { return w.View(uuid) == nil })
		return
	}
	c.Status.Phase, c.Status.ObservedGeneration = done(c.Status.Phase), c.Generation
	c.Status.APIAddress, c.Status.COEVersion = "https://203.0.113.20:6443", "v"+c.Spec.Resolved.Image.KubernetesVersion
	for _, f := range change {
		f(c)
	}
	w.must(w.Kube.Status().Update(w.T.Context(), c))
	w.Await("the inventory", func() bool {
		now := w.View(uuid)
		return now != nil && now.Cluster.ResourceVersion == c.ResourceVersion && now.Phase() == c.Status.Phase
	})
}

func (w *World) settleGroup(g *v1alpha1.NodeGroup) {
	w.T.Helper()
	if g.DeletionTimestamp != nil {
		g.Finalizers = nil
		w.must(w.Kube.Update(w.T.Context(), g))
		return
	}
	if g.ResourceVersion == "" {
		w.must(w.Kube.Create(w.T.Context(), g))
	}
	g.Status.Phase, g.Status.ObservedGeneration = done(g.Status.Phase), g.Generation
	w.must(w.Kube.Status().Update(w.T.Context(), g))
}

func done(phase v1alpha1.Phase) v1alpha1.Phase {
	if phase == "" || phase == v1alpha1.CreateInProgress {
		return v1alpha1.CreateComplete
	}
	return v1alpha1.UpdateComplete
}

// Authority gives a cluster the certificate authority of Kubernetes, and returns it.
func (w *World) Authority(uuid string) *x509.Certificate {
	w.T.Helper()
	cluster := w.View(uuid).Cluster
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	w.must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	w.must(err)
	w.must(w.Kube.Create(w.T.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Stack() + "-ca"},
		Data: map[string][]byte{"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})}}))
	found, err := x509.ParseCertificate(der)
	w.must(err)
	return found
}
