package certificate

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
)

// Ids of extensions, the last number of 2.5.29.x (RFC 5280 4.2.1).
const (
	subjectKeyIdentifier = 14
	keyUsage             = 15
	subjectAltName       = 17
	basicConstraints     = 19
	extendedKeyUsage     = 37
)

// usageMask are the usages a certificate may have: digital signature, non
// repudiation and key encipherment, the first three bits.
const usageMask = 0xe0

// allowed is what a certificate takes over of the extensions a request asks
// for: what is not allowed is left out, or refused when it is critical.
func allowed(asked []pkix.Extension) ([]pkix.Extension, error) {
	var kept []pkix.Extension
	for _, e := range asked {
		var err error
		switch {
		case e.Id.Equal(oid(subjectKeyIdentifier)):
			continue // the certificate has its own
		case e.Id.Equal(oid(subjectAltName)), e.Id.Equal(oid(extendedKeyUsage)):
		case e.Id.Equal(oid(keyUsage)):
			e, err = limitedUsage(e)
		case e.Id.Equal(oid(basicConstraints)):
			e, err = noAuthority(e)
		case e.Critical:
			return nil, fmt.Errorf("the CSR asks for the critical extension %s, which is not allowed", e.Id)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		kept = append(kept, e)
	}
	return kept, nil
}

func limitedUsage(e pkix.Extension) (pkix.Extension, error) {
	var bits asn1.BitString
	if rest, err := asn1.Unmarshal(e.Value, &bits); err != nil || len(rest) > 0 {
		return e, errors.New("the CSR's key usage cannot be read")
	}
	var usage byte
	other := false
	for i, b := range bits.Bytes {
		if i == 0 {
			usage, b = b&usageMask, b&^usageMask
		}
		other = other || b != 0
	}
	if other && e.Critical {
		return e, errors.New("the CSR asks for a critical key usage other than digital signature, non repudiation and key encipherment")
	}
	length := 3
	for length > 0 && usage&(0x80>>(length-1)) == 0 {
		length-- // DER leaves out zero bits at the end of named bit lists
	}
	limited := asn1.BitString{BitLength: length}
	if length > 0 {
		limited.Bytes = []byte{usage}
	}
	var err error
	e.Value, err = asn1.Marshal(limited)
	return e, err
}

func noAuthority(e pkix.Extension) (pkix.Extension, error) {
	var constraints struct {
		IsCA       bool `asn1:"optional"`
		MaxPathLen int  `asn1:"optional,default:-1"`
	}
	if rest, err := asn1.Unmarshal(e.Value, &constraints); err != nil || len(rest) > 0 {
		return e, errors.New("the CSR's basic constraints cannot be read")
	}
	if constraints.IsCA && e.Critical {
		return e, errors.New("the CSR asks for a certificate authority, which is not allowed")
	}
	var err error
	e.Value, err = asn1.Marshal(struct{}{})
	return e, err
}
