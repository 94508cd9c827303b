package tenant

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/certificates"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// keyBits is the size of the key that `openstack coe cluster config` makes.
const keyBits = 2048

// kubeconfig makes a key and a request for a certificate, has the Magnum API sign it, and
// sends both to the browser. They are kept nowhere.
func (s *Server) kubeconfig(w http.ResponseWriter, r *http.Request, v *visitor) {
	ctx, cancel := context.WithTimeout(r.Context(), changeTime)
	defer cancel()
	id := r.PathValue("id")
	name, text, err := v.kubeconfig(ctx, id)
	if v.gone.Load() {
		s.outside(w, r)
		return
	}
	if err != nil {
		code := status(err)
		if code == 0 || code >= http.StatusInternalServerError {
			code = http.StatusBadGateway
		}
		why, fix := reason(err)
		f := &form{Title: words.T("Kubeconfig"), Back: "/clusters/" + id, Error: words.T("There is no kubeconfig: %s", why), missing: code}
		if fix != nil {
			f.trouble = []frame.Trouble{{What: words.T("the certificate"), Why: why, Fix: fix}}
		}
		s.showForm(w, r, f, code)
		return
	}
	s.o.Log.InfoContext(ctx, "kubeconfig", "user_id", v.userID, "project_id", v.projectID, "cluster", id)
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.kubeconfig"`, regexp.MustCompile(`[^a-zA-Z0-9_.-]`).ReplaceAllString(name, "_")))
	_, _ = w.Write(text)
}

func (v *visitor) kubeconfig(ctx context.Context, id string) (name string, text []byte, err error) {
	c, err := v.api()
	if err != nil {
		return "", nil, err
	}
	cluster, err := clusters.Get(ctx, c, id).Extract()
	if err != nil {
		return "", nil, v.failed(words.T("the cluster"), err)
	}
	if cluster.APIAddress == "" {
		return "", nil, &refusal{problem{http.StatusConflict, words.T("the cluster has no address yet"), words.T("wait until it is there")}, nil, errors.New("no address")}
	}
	template, err := clustertemplates.Get(ctx, c, cluster.ClusterTemplateID).Extract()
	if err != nil {
		return "", nil, v.failed(words.T("the cluster's template"), err)
	}
	server, user := map[string]any{"server": cluster.APIAddress}, map[string]any{}
	if !template.TLSDisabled {
		authority, err := certificates.Get(ctx, c, cluster.UUID).Extract()
		if err != nil {
			return "", nil, v.failed(words.T("the certificate authority"), err)
		}
		key, request, err := newRequest()
		if err != nil {
			return "", nil, err
		}
		signed, err := certificates.Create(ctx, c, certificates.CreateOpts{ClusterUUID: cluster.UUID, CSR: string(request)}).Extract()
		if err != nil {
			return "", nil, v.failed(words.T("the certificate"), err)
		}
		server["certificate-authority-data"] = []byte(authority.PEM)
		user["client-certificate-data"], user["client-key-data"] = []byte(signed.PEM), key
	}
	text, err = yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Config", "current-context": "default", "preferences": map[string]any{},
		"clusters": []any{map[string]any{"name": cluster.Name, "cluster": server}}, "users": []any{map[string]any{"name": "admin", "user": user}},
		"contexts": []any{map[string]any{"name": "default", "context": map[string]any{"cluster": cluster.Name, "user": "admin"}}}})
	return cluster.Name, text, err
}

// newRequest makes a key, and a request for a certificate of an administrator of the cluster.
func newRequest() (key, request []byte, err error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		SignatureAlgorithm: x509.SHA256WithRSA}, private)
	if err != nil {
		return nil, nil, fmt.Errorf("making a request for a certificate: %w", err)
	}
	key = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	return key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}
