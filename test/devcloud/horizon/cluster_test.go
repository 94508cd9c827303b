package horizon

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// apiAddress is where the cluster's API server would be.
const apiAddress = "https://203.0.113.20:6443"

// keypair makes a key pair of demo.
func (w *world) keypair(name string) {
	w.Helper()
	compute, err := openstack.NewComputeV2(w.provider("devcloud"), gophercloud.EndpointOpts{})
	w.must(err)
	w.must(keypairs.Create(w.Context(), compute, keypairs.CreateOpts{Name: name}).Err)
	w.clean(func(ctx context.Context) error { return keypairs.Delete(ctx, compute, name, nil).ExtractErr() })
}

// image makes an image of nodes of demo, with a version of Kubernetes.
func (w *world) image(name, version string) {
	w.Helper()
	glance, err := openstack.NewImageV2(w.provider("devcloud"), gophercloud.EndpointOpts{})
	w.must(err)
	image, err := images.Create(w.Context(), glance, images.CreateOpts{Name: name, DiskFormat: "raw", ContainerFormat: "bare",
		Properties: map[string]string{"os_distro": "ubuntu", "kube_version": version}}).Extract()
	w.must(err)
	w.clean(func(ctx context.Context) error { return images.Delete(ctx, glance, image.ID).ExtractErr() })
}

// template makes a cluster template of demo, as its client in Go does.
func (w *world) template(name, image, version string) {
	w.Helper()
	magnum, err := openstack.NewContainerInfraV1(w.provider("devcloud"), gophercloud.EndpointOpts{})
	w.must(err)
	yes := true
	w.must(clustertemplates.Create(w.Context(), magnum, clustertemplates.CreateOpts{Name: name, COE: "kubernetes", ImageID: image, ExternalNetworkID: "public",
		FlavorID: "m1.medium", MasterFlavorID: "m1.large", MasterLBEnabled: &yes, FloatingIPEnabled: &yes, Labels: map[string]string{"kube_tag": version, "team": "shop"}}).Err)
}

// cluster is the resource of a cluster by its name; nil if there is none.
func (w *world) cluster(name string) *v1alpha1.Cluster {
	w.Helper()
	list := &v1alpha1.ClusterList{}
	w.must(w.kube.List(w.Context(), list))
	for i := range list.Items {
		if list.Items[i].Spec.Name == name {
			return &list.Items[i]
		}
	}
	return nil
}

// groups are its node groups, made if nobody has.
func (w *world) groups(c *v1alpha1.Cluster) []*v1alpha1.NodeGroup {
	w.Helper()
	all := v1alpha1.DefaultGroups(c)
	for _, g := range all {
		err := w.kube.Create(w.Context(), g)
		if apierrors.IsAlreadyExists(err) {
			err = w.kube.Get(w.Context(), client.ObjectKeyFromObject(g), g)
		}
		w.must(err)
	}
	return all
}

// settle does the controllers' work: what is wanted is there.
func (w *world) settle(name string) {
	w.Helper()
	c := w.cluster(name)
	for _, g := range w.groups(c) {
		if c.DeletionTimestamp != nil {
			g.Finalizers = nil
			w.must(w.kube.Update(w.Context(), g))
			continue
		}
		g.Status.Phase, g.Status.ObservedGeneration = done(g.Status.Phase), g.Generation
		w.must(w.kube.Status().Update(w.Context(), g))
	}
	if c.DeletionTimestamp != nil {
		c.Finalizers = nil
		w.must(w.kube.Update(w.Context(), c))
		return
	}
	c.Status.Phase, c.Status.ObservedGeneration = done(c.Status.Phase), c.Generation
	c.Status.APIAddress, c.Status.COEVersion, c.Status.HealthStatus = apiAddress, "v"+c.Spec.Resolved.Image.KubernetesVersion, v1alpha1.Healthy
	w.must(w.kube.Status().Update(w.Context(), c))
}

func done(phase v1alpha1.Phase) v1alpha1.Phase {
	if phase == "" || phase == v1alpha1.CreateInProgress {
		return v1alpha1.CreateComplete
	}
	return v1alpha1.UpdateComplete
}

// authority gives a cluster its certificate authority, as the control plane's provider does.
func (w *world) authority(name string) *x509.Certificate {
	w.Helper()
	c := w.cluster(name)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	w.must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	w.must(err)
	w.must(w.kube.Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Stack() + "-ca"},
		Data: map[string][]byte{"tls.crt": encoded("CERTIFICATE", der), "tls.key": encoded("PRIVATE KEY", keyDER)}}))
	found, err := x509.ParseCertificate(der)
	w.must(err)
	return found
}

// request is a request for a certificate.
func (w *world) request(name string) string {
	w.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	w.must(err)
	return string(encoded("CERTIFICATE REQUEST", der))
}

func encoded(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
