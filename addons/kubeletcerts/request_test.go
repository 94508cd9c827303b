package kubeletcerts

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wish is what a test asks for; it is what a kubelet asks for until it is changed.
type wish struct {
	template x509.CertificateRequest
	csr      certificatesv1.CertificateSigningRequest
	// text changes the request in PEM.
	text func([]byte) []byte
}

// ask is what the kubelet of a node asks for, with changes.
func ask(t *testing.T, node string, ips []string, changes ...func(*wish)) (*certificatesv1.CertificateSigningRequest, crypto.Signer) {
	t.Helper()
	w := wish{
		template: x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}, DNSNames: []string{node}},
		csr: certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr-" + node}, Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"},
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}}},
		text: func(text []byte) []byte { return text }}
	for _, ip := range ips {
		w.template.IPAddresses = append(w.template.IPAddresses, net.ParseIP(ip))
	}
	for _, change := range changes {
		change(&w)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &w.template, key)
	if err != nil {
		t.Fatal(err)
	}
	w.csr.Spec.Request = w.text(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return &w.csr, key
}

// names is the extension of names with one more, of a tag that Go has no field for.
func names(t *testing.T, tag int, content []byte) func(*wish) {
	t.Helper()
	return func(w *wish) {
		list := []asn1.RawValue{{Class: asn1.ClassContextSpecific, Tag: tagIP, Bytes: w.template.IPAddresses[0].To4()}, {Class: asn1.ClassContextSpecific, Tag: tag, Bytes: content, IsCompound: tag == 4}}
		value, err := asn1.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		w.template.ExtraExtensions = append(w.template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value})
	}
}

// TestRead refuses what no kubelet asks for, and reads what one does.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*wish)
		want   string // empty: it is read
	}{
		"a kubelet's":             {func(*wish) {}, ""},
		"with a key of RSA":       {func(w *wish) { w.csr.Spec.Usages = append(w.csr.Spec.Usages, certificatesv1.UsageKeyEncipherment) }, ""},
		"usages in another order": {func(w *wish) { slices.Reverse(w.csr.Spec.Usages) }, ""},
		"without a name":          {func(w *wish) { w.template.DNSNames = nil }, ""},
		"another signer":          {func(w *wish) { w.csr.Spec.SignerName = certificatesv1.KubeAPIServerClientSignerName }, "it is for the signer"},
		"a user":                  {func(w *wish) { w.csr.Spec.Username = "alice" }, `"alice" asks`},
		"no node":                 {func(w *wish) { w.csr.Spec.Username, w.template.Subject.CommonName = "system:node:", "system:node:" }, "not the user of a kubelet"},
		"another group":           {func(w *wish) { w.csr.Spec.Groups = []string{"system:authenticated"} }, "not in the group system:nodes"},
		"for clients":             {func(w *wish) { w.csr.Spec.Usages[1] = certificatesv1.UsageClientAuth }, "usages"},
		"also for clients":        {func(w *wish) { w.csr.Spec.Usages = append(w.csr.Spec.Usages, certificatesv1.UsageClientAuth) }, "usages"},
		"no usages":               {func(w *wish) { w.csr.Spec.Usages = nil }, "usages"},
		"to sign certificates":    {func(w *wish) { w.csr.Spec.Usages = append(w.csr.Spec.Usages, certificatesv1.UsageCertSign) }, "usages"},
		"another node's name":     {func(w *wish) { w.template.Subject.CommonName = "system:node:w2" }, `its common name is "system:node:w2"`},
		"an administrator":        {func(w *wish) { w.template.Subject.Organization = []string{"system:masters"} }, "its organization"},
		"also an administrator": {func(w *wish) {
			w.template.Subject.Organization = append(w.template.Subject.Organization, "system:masters")
		}, "its organization"},
		"no organization":       {func(w *wish) { w.template.Subject.Organization = nil }, "its organization"},
		"more in its subject":   {func(w *wish) { w.template.Subject.OrganizationalUnit = []string{"x"} }, "its subject has more"},
		"a URI":                 {func(w *wish) { w.template.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }, "other names"},
		"a mail address":        {func(w *wish) { w.template.EmailAddresses = []string{"a@example.com"} }, "other names"},
		"a name of a directory": {names(t, 4, []byte{0x30, 0x00}), "other names"},
		"a registered ID":       {names(t, 8, []byte{0x2a, 0x03}), "other names"},
		"an authority": {func(w *wish) {
			w.template.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 0x03, 0x01, 0x01, 0xff}}}
		}, "the extension 2.5.29.19"},
		"no address":      {func(w *wish) { w.template.IPAddresses = nil }, "no IP address"},
		"no names at all": {func(w *wish) { w.template.IPAddresses, w.template.DNSNames = nil, nil }, "no IP address"},
		"no PEM":          {func(w *wish) { w.text = func([]byte) []byte { return []byte("request") } }, "not one certificate request"},
		"two requests":    {func(w *wish) { w.text = func(text []byte) []byte { return append(slices.Clone(text), text...) } }, "not one certificate request"},
		"a certificate": {func(w *wish) {
			w.text = func(text []byte) []byte { return []byte(strings.ReplaceAll(string(text), " REQUEST", "")) }
		}, "not one certificate request"},
		"half a request": {func(w *wish) {
			w.text = func(text []byte) []byte { return reencode(text, func(der []byte) []byte { return der[:len(der)/2] }) }
		}, "reading the certificate request"},
		"of another's key": {func(w *wish) {
			w.text = func(text []byte) []byte {
				return reencode(text, func(der []byte) []byte { der[len(der)-1] ^= 1; return der })
			}
		}, "not signed with its own key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			csr, _ := ask(t, "w1", []string{"10.0.0.5", "2001:db8::5"}, c.change)
			got, err := read(csr)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want == "" && (got.node != "w1" || len(got.ips) != 2):
				t.Errorf("read %+v", got)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func reencode(text []byte, change func([]byte) []byte) []byte {
	block, _ := pem.Decode(text)
	block.Bytes = change(block.Bytes)
	return pem.EncodeToMemory(block)
}
