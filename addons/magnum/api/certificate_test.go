package api

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const certificates = "/v1/certificates"

// authorities puts the Secrets that Cluster API has of a cluster.
func (b *bench) authorities(uuid string) map[string][]byte {
	b.t.Helper()
	cluster := b.view(uuid).Cluster
	made := map[string][]byte{}
	for _, kind := range []string{"ca", "etcd", "proxy"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		b.must(err)
		template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: kind}, NotBefore: time.Now().Add(-time.Hour),
			NotAfter: time.Now().AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		b.must(err)
		keyDER, err := x509.MarshalPKCS8PrivateKey(key)
		b.must(err)
		made[kind] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		b.must(b.kube.Create(b.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Stack() + "-" + kind},
			Data: map[string][]byte{"tls.crt": made[kind], "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})}}))
	}
	return made
}

func (b *bench) csr(key any, algorithm x509.SignatureAlgorithm, extensions ...pkix.Extension) string {
	b.t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		SignatureAlgorithm: algorithm, ExtraExtensions: extensions}, key)
	b.must(err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

func (b *bench) ecKey() *ecdsa.PrivateKey {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	b.must(err)
	return key
}

func (b *bench) certificate(text string) *x509.Certificate {
	b.t.Helper()
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		b.t.Fatalf("no PEM: %s", text)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	b.must(err)
	return certificate
}

// proves: M-X1, M-X2, M-X12, M-X13, M-X17
func TestCertificateGet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	path := certificates + "/" + uuid
	b.do(member, http.MethodGet, path, nil).want(409).says("no certificate authority yet")
	made := b.authorities(uuid)
	shown := b.do(member, http.MethodGet, path, nil).want(200).is("pem", string(made["ca"])).is("cluster_uuid", uuid)
	if link := shown.list("links")[0]["href"]; link != b.address+path {
		t.Errorf("link %v", link)
	}
	for query, kind := range map[string]string{"?ca_cert_type=etcd": "etcd", "?ca_cert_type=front_proxy": "proxy", "?ca_cert_type=front-proxy": "proxy", "/etcd": "etcd", "?ca_cert_type=kubernetes": "ca"} {
		b.do(member, http.MethodGet, path+query, nil).want(200).is("pem", string(made[kind]))
	}
	b.do(member, http.MethodGet, path+"?ca_cert_type=bogus", nil).want(400)
	b.do(reader, http.MethodGet, path, nil).want(200)
	b.do(other, http.MethodGet, path, nil).want(200)
	b.do(alien, http.MethodGet, path, nil).want(404)
	b.do(member, http.MethodGet, certificates+"/shop-prod", nil).want(200)
	c := b.view(uuid).Cluster.DeepCopy()
	c.Finalizers = nil
	b.must(b.kube.Update(t.Context(), c))
	b.must(b.kube.Delete(t.Context(), c))
	b.await(func() bool { return b.do(member, http.MethodGet, path, nil).status == 404 })
}

// proves: M-X3, M-X4, M-X5, M-X6, M-X7, M-X8, M-X9, M-X11
func TestCertificateSign(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.authorities(uuid)["ca"])
	rsaKey, err := rsa.GenerateKey(rand.Reader, 4096)
	b.must(err)
	ec := b.csr(b.ecKey(), x509.ECDSAWithSHA256)
	for name, body := range map[string]object{
		"EC":             {"cluster_uuid": uuid, "csr": ec},
		"as Terraform":   {"cluster_uuid": uuid, "csr": b.csr(rsaKey, x509.SHA512WithRSA)},
		"by name":        {"cluster_uuid": "shop-prod", "csr": ec, "ca_cert_type": "kubernetes"},
		"as magnumcli":   {"cluster_uuid": uuid, "csr": ec, "ca_cert_type": nil},
		"other's wishes": {"cluster_uuid": uuid, "csr": ec},
	} {
		who := member
		if name == "other's wishes" {
			who = other
		}
		made := b.do(who, http.MethodPost, certificates, body).want(201).is("cluster_uuid", uuid).is("csr", body["csr"])
		signed := b.certificate(made.str("pem"))
		if _, err := signed.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if signed.Subject.CommonName != "admin" || signed.Subject.Organization[0] != "system:masters" || signed.NotBefore.After(time.Now()) ||
			time.Until(signed.NotAfter).Round(24*time.Hour) != 1825*24*time.Hour {
			t.Errorf("%s: %s from %s to %s", name, signed.Subject, signed.NotBefore, signed.NotAfter)
		}
	}
	constraints, err := asn1.Marshal(struct{ CA bool }{true})
	b.must(err)
	authority := b.csr(b.ecKey(), x509.ECDSAWithSHA256, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: constraints})
	for says, body := range map[string]object{
		"not a PEM":             {"cluster_uuid": uuid, "csr": "x"},
		"csr: it must be betwe": {"cluster_uuid": uuid, "csr": ""},
		"csr is mandatory":      {"cluster_uuid": uuid},
		"could not be found":    {"cluster_uuid": unknown(), "csr": ec},
		"bay_uuid":              {"bay_uuid": uuid, "csr": ec},
		"certificate authority": {"cluster_uuid": uuid, "csr": authority},
		"cannot be read":        {"cluster_uuid": uuid, "csr": "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"},
		"ca_cert_type bogus":    {"cluster_uuid": uuid, "csr": ec, "ca_cert_type": "bogus"},
	} {
		b.do(member, http.MethodPost, certificates, body).want(400).says(says)
	}
	b.do(reader, http.MethodPost, certificates, object{"cluster_uuid": uuid, "csr": ec}).want(403)
	b.do(alien, http.MethodPost, certificates, object{"cluster_uuid": uuid, "csr": ec}).want(400)
}

// The term is what the server was configured with, until the authority's end;
// the beginning is never ahead of the clocks of those who verify.
//
// proves: M-X18
func TestCertificateTerm(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	const day = 24 * time.Hour
	for name, test := range map[string]struct{ configured, want time.Duration }{
		"none":                      {0, 1825 * day},
		"an hour":                   {time.Hour, time.Hour},
		"90 days":                   {90 * day, 90 * day},
		"longer than the authority": {40 * 365 * day, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(o *Options) { o.Term, o.Now = test.configured, func() time.Time { return now } })
			_, uuid := b.ready()
			authority := b.certificate(string(b.authorities(uuid)["ca"]))
			signed := b.do(member, http.MethodPost, certificates, object{"cluster_uuid": uuid, "csr": b.csr(b.ecKey(), 0)}).want(201)
			certificate, want := b.certificate(signed.str("pem")), now.Add(test.want)
			if test.want == 0 {
				want = authority.NotAfter
			}
			if !certificate.NotAfter.Equal(want) {
				t.Errorf("good until %s, want %s", certificate.NotAfter, want)
			}
			if certificate.NotBefore.After(now) {
				t.Errorf("good from %s, which is after %s", certificate.NotBefore, now)
			}
		})
	}
}

// proves: M-X14, M-X15, M-X16
func TestRotateAuthority(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	made := b.authorities(uuid)
	path := certificates + "/" + uuid
	b.do(member, http.MethodPatch, path, nil).want(400).says("not supported")
	b.do(member, http.MethodGet, path, nil).want(200).is("pem", string(made["ca"]))
	b.show(uuid).is("status", "CREATE_COMPLETE")
	b.server.o.Rules.RotateCA = true
	insecure := b.cluster(b.template("tls_disabled", true))
	b.settle(insecure)
	b.do(member, http.MethodPatch, certificates+"/"+insecure, nil).want(400).says("tls_disabled")
	b.do(reader, http.MethodPatch, path, nil).want(403)
	b.do(alien, http.MethodPatch, path, nil).want(404)
	rotated := b.do(member, http.MethodPatch, path, nil, "Content-Type", "application/octet-stream").want(202).is("uuid", uuid)
	if asked := b.view(uuid).Cluster.Spec.CARotation; asked == nil || asked.ID != rotated.header.Get("X-Openstack-Request-Id") || !strings.HasPrefix(asked.ID, "req-") {
		t.Errorf("%+v", asked)
	}
	b.show(uuid).is("status", "UPDATE_IN_PROGRESS")
	b.do(member, http.MethodPatch, path, nil).want(400).says("UPDATE_IN_PROGRESS")
}
