package kubeletcerts

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
)

const (
	// userPrefix and group are how kubelets log in: the Node authorizer goes by them.
	userPrefix = "system:node:"
	group      = "system:nodes"
)

// asked is what a kubelet asks for: a certificate for its node with names and addresses.
type asked struct {
	node  string
	names []string
	ips   []netip.Addr
}

// read parses a request. Its errors are for requests that no state of a cluster can make right:
// Kubernetes does not let a request change.
func read(csr *certificatesv1.CertificateSigningRequest) (asked, error) {
	node, found := strings.CutPrefix(csr.Spec.Username, userPrefix)
	switch {
	case csr.Spec.SignerName != certificatesv1.KubeletServingSignerName:
		return asked{}, fmt.Errorf("it is for the signer %q, not for %q", csr.Spec.SignerName, certificatesv1.KubeletServingSignerName)
	case !found || node == "":
		return asked{}, fmt.Errorf("%q asks, which is not the user of a kubelet (%sNODE)", csr.Spec.Username, userPrefix)
	case !slices.Contains(csr.Spec.Groups, group):
		return asked{}, fmt.Errorf("%q asks, which is not in the group %s", csr.Spec.Username, group)
	case !serving(csr.Spec.Usages):
		return asked{}, fmt.Errorf("its usages are %q: a kubelet asks for digital signature, server auth and perhaps key encipherment", csr.Spec.Usages)
	}
	request, err := parse(csr.Spec.Request)
	if err != nil {
		return asked{}, err
	}
	if err := subject(request.Subject, csr.Spec.Username); err != nil {
		return asked{}, err
	}
	if err := onlyNamesAndAddresses(request); err != nil {
		return asked{}, err
	}
	a := asked{node: node, names: request.DNSNames}
	for _, ip := range request.IPAddresses {
		address, ok := netip.AddrFromSlice(ip)
		if !ok {
			return asked{}, errors.New("an IP address in it is none")
		}
		a.ips = append(a.ips, address.Unmap())
	}
	return a, nil
}

// serving reports whether usages are those of a kubelet's serving certificate, as the signer
// wants them.
func serving(usages []certificatesv1.KeyUsage) bool {
	sorted := slices.Sorted(slices.Values(usages))
	return slices.Equal(sorted, []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}) ||
		slices.Equal(sorted, []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageServerAuth})
}

func parse(text []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("it is not one certificate request in PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate request: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("it is not signed with its own key: %w", err)
	}
	return request, nil
}

// subject checks that a subject is exactly the CN and O of the requester.
func subject(name pkix.Name, user string) error {
	switch {
	case name.CommonName != user:
		return fmt.Errorf("its common name is %q, but %q asks", name.CommonName, user)
	case !slices.Equal(name.Organization, []string{group}):
		return fmt.Errorf("its organization is %q, not %q", name.Organization, group)
	case len(name.Names) != 2:
		return errors.New("its subject has more than a common name and an organization")
	}
	return nil
}

// Tags of the names in an extension (RFC 5280, 4.2.1.6) that a kubelet asks for.
const (
	tagDNS = 2
	tagIP  = 7
)

// onlyNamesAndAddresses checks that a request is for DNS names and IP addresses, for at least one
// address, and for nothing else, including what Go does not read.
func onlyNamesAndAddresses(request *x509.CertificateRequest) error {
	subjectAlternativeName := asn1.ObjectIdentifier{2, 5, 29, 17}
	for _, extension := range request.Extensions {
		if !extension.Id.Equal(subjectAlternativeName) {
			return fmt.Errorf("it asks for the extension %s: a kubelet asks for names and addresses only", extension.Id)
		}
		var list []asn1.RawValue
		if rest, err := asn1.Unmarshal(extension.Value, &list); err != nil || len(rest) > 0 {
			return errors.New("its list of names and addresses cannot be read")
		}
		for _, one := range list {
			if one.Class != asn1.ClassContextSpecific || one.Tag != tagDNS && one.Tag != tagIP {
				return errors.New("it asks for other names than DNS names and IP addresses, such as URIs or mail addresses")
			}
		}
	}
	if len(request.IPAddresses) == 0 {
		return errors.New("it asks for no IP address")
	}
	return nil
}
