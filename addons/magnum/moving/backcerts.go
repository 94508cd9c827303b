package moving

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"maps"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-sh/slipway/addons/magnum/certificate"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// InDatabase is the name of Magnum's certificate store in its database.
const InDatabase = "x509keypair"

// certificates judges the authorities of a cluster. Magnum signs with those that its
// row refers to; the cluster trusts those in its Secrets.
func (j *returning) certificates(u *unit, o *v1alpha1.Cluster, row *database.Cluster, l *look) {
	part := &Returned{Kind: KindCertificate, Cluster: u.Name, Item: Item{Name: o.Stack() + "-ca", ProjectID: u.ProjectID, Verdict: Unchanged}}
	u.parts = append(u.parts, part)
	for _, kind := range []string{"ca", "etcd", "proxy"} {
		if l.secrets[kind] == nil {
			part.problem("its Secret "+o.Stack()+"-"+kind+" is missing", "restore it; without it certificates are lost")
		}
	}
	if part.Verdict == Refuse {
		return
	}
	if subject, ok := signsAs(l.secrets["ca"].Data[corev1.TLSCertKey], o.Title()); !ok {
		part.problem(fmt.Sprintf("Magnum signs certificates in the name of CN=%s, and its authority is %s: nobody would trust the kubeconfigs that Magnum makes", o.Title(), subject),
			"give a cluster that was renamed its former name again; keep one that Slipway made, or whose authorities were rotated, with Slipway (--skip-refused)")
		return
	}
	pair, known := database.KeyPair{}, false
	if row != nil {
		pair, known = j.image.KeyPairs[row.CARef]
	}
	switch {
	case known && sameCertificate(l.secrets["ca"].Data[corev1.TLSCertKey], []byte(pair.Certificate)):
		return
	case row != nil && !known && row.CARef != "" && o.Status.CARotationID == "":
		part.Notes = append(part.Notes, "they stay in Magnum's store, as its row says")
		return
	case known || j.choices.Certificates == InDatabase:
		j.authorities(u, part, o, row, l)
	case row != nil:
		part.problem("its authorities were rotated, and Magnum keeps certificates where this command writes nothing",
			"store the authorities of Secrets "+o.Stack()+"-ca, -etcd and -proxy there and set the row's references, or keep the cluster with Slipway")
	default:
		part.problem("Magnum keeps certificates where this command writes nothing", "if it is in the database, say so with --certificates "+InDatabase+"; else keep the cluster with Slipway (--skip-refused)")
	}
}

// signsAs reports whether Magnum's certificates lead to an authority: as their issuer it writes the
// cluster's name, in UTF-8, and Kubernetes compares the bytes. What is no certificate is not judged
// here.
func signsAs(authority []byte, name string) (subject string, ok bool) {
	block, _ := pem.Decode(authority)
	if block == nil {
		return "", true
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", true
	}
	issuer, err := asn1.Marshal(pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(name)}}}})
	return parsed.Subject.String(), err == nil && bytes.Equal(issuer, parsed.RawSubject)
}

// authorities writes the cluster's authorities into the database, with a
// certificate for Magnum itself, as its conductor does for new clusters. Keys have no
// passphrase: in the row beside it, it would keep nobody away.
func (j *returning) authorities(u *unit, part *Returned, o *v1alpha1.Cluster, row *database.Cluster, l *look) {
	client, key, err := clientPair(l.secrets["ca"])
	if err != nil {
		part.problem("its authority cannot be used: "+err.Error(), "restore Secret "+o.Stack()+"-ca")
		return
	}
	references := map[string]any{}
	add := func(column string, certificate, key []byte) {
		id := uuid.NewString()
		references[column] = id
		u.work.Changes = append(u.work.Changes, database.Change{Table: InDatabase, Set: map[string]any{"uuid": id, "certificate": string(certificate),
			"private_key": string(key), "project_id": o.Spec.ProjectID, "user_id": o.Spec.UserID, "created_at": now()}})
	}
	for _, one := range []struct{ column, kind string }{{"ca_cert_ref", "ca"}, {"etcd_ca_cert_ref", "etcd"}, {"front_proxy_ca_cert_ref", "proxy"}} {
		add(one.column, l.secrets[one.kind].Data[corev1.TLSCertKey], l.secrets[one.kind].Data[corev1.TLSPrivateKeyKey])
	}
	add("magnum_cert_ref", client, key)
	part.Verdict = Create
	if row != nil {
		part.Verdict = Write
		part.Notes = append(part.Notes, "the authorities were rotated: the row refers to the new ones")
	}
	for n := range u.work.Changes {
		if c := &u.work.Changes[n]; c.Table == "cluster" {
			maps.Copy(c.Set, references)
			return
		}
	}
	if row != nil {
		u.work.Changes = append(u.work.Changes, database.Change{Table: "cluster", ID: row.ID, Set: references})
	}
}

// clientPair makes the certificate by which Magnum itself is an administrator.
func clientPair(secret *corev1.Secret) (certificatePEM, keyPEM []byte, err error) {
	authority, err := certificate.NewAuthority(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, nil, err
	}
	const bits = 2048 // [x509] rsa_key_size
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}}, key)
	if err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	signed, err := authority.Sign(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), certificate.Term, now())
	if err != nil {
		return nil, nil, err
	}
	return signed, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}
