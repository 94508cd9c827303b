package adopting

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	bootstrapold "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrap "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	planeold "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	plane "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	coreold "sigs.k8s.io/cluster-api/api/core/v1beta1"
	core "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// convert has the API server convert Cluster API's objects by Cluster API's own code.
func convert(t *testing.T, config *rest.Config) {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, errors.Join(coreold.AddToScheme(scheme), core.AddToScheme(scheme), planeold.AddToScheme(scheme), plane.AddToScheme(scheme),
		bootstrapold.AddToScheme(scheme), bootstrap.AddToScheme(scheme)))
	// References of the older version name a version, which Cluster API looks up.
	version := func(kind schema.GroupKind) (string, error) {
		return kind.Group + "/" + map[bool]string{true: "v1beta1", false: "v1beta2"}[kind.Group == "infrastructure.cluster.x-k8s.io"], nil
	}
	coreold.SetAPIVersionGetter(version)
	planeold.SetAPIVersionGetter(version)
	certificate, authority := certificate(t)
	server := httptest.NewUnstartedServer(conversion.NewWebhookHandler(scheme))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	client, err := clientset.NewForConfig(config)
	must(t, err)
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	list, err := definitions.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	url := strings.Replace(server.URL, "localhost", "127.0.0.1", 1)
	for i := range list.Items {
		d := &list.Items[i]
		if d.Spec.Group != "cluster.x-k8s.io" && d.Spec.Group != "controlplane.cluster.x-k8s.io" && d.Spec.Group != "bootstrap.cluster.x-k8s.io" {
			continue
		}
		d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: authority}, ConversionReviewVersions: []string{"v1"}}}
		_, err := definitions.Update(t.Context(), d, metav1.UpdateOptions{})
		must(t, err)
	}
}

func certificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "conversion"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pair, err := tls.X509KeyPair(authority, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
	must(t, err)
	return pair, authority
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
