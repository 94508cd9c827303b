package api

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/certificate"
	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

func certificateRoutes() []route {
	return []route{
		{http.MethodPost, "certificates", minMinor, nil, signCertificate},
		{http.MethodGet, "certificates/{cluster}", minMinor, []string{"ca_cert_type"}, getCertificate},
		{http.MethodGet, "certificates/{cluster}/{type}", minMinor, nil, getCertificate},
		{http.MethodPatch, "certificates/{cluster}", minMinor, nil, rotateAuthority},
	}
}

// authoritySecret is the Secret of a certificate authority by ca_cert_type: the
// names are Cluster API's.
func authoritySecret(cluster *v1alpha1.Cluster, kind string) (string, error) {
	suffix, ok := map[string]string{"": "ca", "kubernetes": "ca", "etcd": "etcd", "front_proxy": "proxy", "front-proxy": "proxy"}[kind]
	if !ok {
		return "", badRequest("The ca_cert_type %s does not exist: choose kubernetes, etcd or front_proxy.", kind)
	}
	return cluster.Stack() + "-" + suffix, nil
}

// authority reads a certificate authority of a cluster. It is not cached: keys
// stay in as few places as possible.
func (c *call) authority(cluster *v1alpha1.Cluster, kind string) (certificatePEM, keyPEM []byte, err error) {
	name, err := authoritySecret(cluster, kind)
	if err != nil {
		return nil, nil, err
	}
	secret := &corev1.Secret{}
	err = c.s.o.Client.Get(c.ctx(), client.ObjectKey{Namespace: cluster.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, conflict("The cluster has no certificate authority yet. Wait until it is ready.")
	case err != nil:
		return nil, nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	return secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], nil
}

func (c *call) showCertificate(v *inventory.View, kind string, pem []byte) document {
	d := document{"cluster_uuid": v.Cluster.UUID(), "pem": string(pem), "links": c.links("certificates/" + v.Cluster.UUID())}
	if kind != "" {
		d["ca_cert_type"] = kind
	}
	return d
}

func getCertificate(c *call) error {
	v, err := c.cluster(c.ident("cluster"), "certificate:get", c.admin)
	if err != nil {
		return err
	}
	kind := cmp.Or(c.ident("type"), c.values.Get("ca_cert_type"))
	pem, _, err := c.authority(v.Cluster, kind)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.showCertificate(v, kind, pem))
}

func signAttributes() []attribute {
	return append([]attribute{{name: "cluster_uuid", kind: text, min: 1, max: 255, mandatory: true}, {name: "csr", kind: text, min: 1, max: 65535, mandatory: true},
		{name: "ca_cert_type", kind: text}}, readOnly("pem", "links", "created_at", "updated_at")...)
}

// signCertificate answers POST /certificates.
func signCertificate(c *call) error {
	d, err := c.decode(signAttributes())
	if err != nil {
		return err
	}
	v, err := c.findCluster(d.text("cluster_uuid"), c.admin)
	if answer, ok := err.(*httpError); ok && answer.status == http.StatusNotFound {
		return badRequest("%s", answer.detail)
	}
	if err != nil {
		return err
	}
	if err := c.allow("certificate:create", target(v)); err != nil {
		return err
	}
	kind := d.text("ca_cert_type")
	certificatePEM, keyPEM, err := c.authority(v.Cluster, kind)
	if err != nil {
		return err
	}
	authority, err := certificate.NewAuthority(certificatePEM, keyPEM)
	if err != nil {
		return err
	}
	signed, err := authority.Sign([]byte(d.text("csr")), c.s.o.Term, c.s.o.Now())
	if err != nil {
		return badRequest("%s", openstackapi.Sentence(strings.TrimPrefix(err.Error(), "signing: ")))
	}
	answer := c.showCertificate(v, kind, signed)
	answer["csr"] = d.text("csr")
	return c.reply(http.StatusCreated, answer)
}

// rotateAuthority answers PATCH /certificates/{cluster}: it is a request for the controllers, which
// is refused before anything changes if they could not carry it out.
func rotateAuthority(c *call) error {
	if _, err := c.jsonBody(); err != nil {
		return err
	}
	v, err := c.cluster(c.ident("cluster"), "certificate:rotate_ca", c.admin)
	if err != nil {
		return err
	}
	if t := v.Cluster.Spec.Template; t != nil && t.TLSDisabled {
		return badRequest("Rotating the CA certificate is not possible for a cluster whose template has tls_disabled.")
	}
	if !c.s.o.Rules.RotateCA {
		return badRequest("Rotating the CA certificate is not supported by this driver. Nothing was changed.")
	}
	if err := accepts(v.Phase(), "rotate the CA of", false); err != nil {
		return err
	}
	_, err = update(c, v.Cluster, func(cluster *v1alpha1.Cluster) error {
		cluster.Spec.CARotation = &v1alpha1.RotationRequest{ID: c.requestID, RequestedAt: metav1.NewTime(c.s.o.Now()), UserID: c.caller.UserID}
		return nil
	})
	if err != nil {
		return err
	}
	return c.accepted(v.Cluster.UUID())
}
