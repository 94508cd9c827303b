package openstackcluster

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	authentication "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/kube/throwaway"
	"github.com/slipway-sh/slipway/internal/process"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestKeystoneTokens has a real API server ask the bundle's webhook, with the kubeconfig, the
// arguments and the bindings that the chart renders, about tokens of the sandbox's Keystone.
func TestKeystoneTokens(t *testing.T) {
	t.Parallel()
	program := keystoneProgram(t)
	cloud := sandboxtest.Start(t)
	project, err := projects.List(cloud.Admin.Identity(t), projects.ListOpts{Name: "demo"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	demo, err := projects.ExtractProjects(project)
	if err != nil || len(demo) != 1 {
		t.Fatalf("projects named demo: %v, %v", demo, err)
	}
	w := newKeystoneWorld(t, program, cloud.URL()+"/identity", demo[0].ID)

	member := w.user(cloud.Member.Provider.Token())
	who, err := member.whoami(t.Context())
	if err != nil || who.Username != "keystone:demo@default" || !slices.Contains(who.Groups, "keystone:member") || len(who.Extra["alpha.kubernetes.io/identity/project/id"]) != 1 {
		t.Errorf("a member is %+v, %v", who, err)
	}
	// A controller puts Kubernetes' own roles together, after the start.
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		_, err := member.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a member lists pods: %v", err)
		}
	}
	if err := member.writes(t.Context()); err != nil {
		t.Errorf("a member writes: %v", err)
	}
	if _, err := member.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a member lists nodes: %v", err)
	}
	for what, token := range map[string]string{"a token of nobody": "gAAAAABnonsense", "a token of another project, of an administrator": cloud.Admin.Provider.Token(), "no token": ""} {
		if _, err := w.user(token).whoami(t.Context()); !apierrors.IsUnauthorized(err) && token != "" {
			t.Errorf("%s: %v, want that it is refused", what, err)
		}
		if _, err := w.user(token).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err) {
			t.Errorf("%s lists pods: %v", what, err)
		}
	}
	w.reader(cloud, demo[0].ID)
	w.manyAtOnce(cloud)
}

// reader has the least role, and a group in Keystone that is called as Kubernetes' masters are.
func (w *keystoneWorld) reader(cloud *sandboxtest.Cloud, project string) {
	w.Helper()
	ctx, identity := w.Context(), cloud.Admin.Identity(w)
	user, err := users.Create(ctx, identity, users.CreateOpts{Name: "system:admin", Password: "secret", DomainID: "default"}).Extract()
	if err != nil {
		w.Fatal(err)
	}
	group, err := groups.Create(ctx, identity, groups.CreateOpts{Name: "system:masters", DomainID: "default"}).Extract()
	if err != nil {
		w.Fatal(err)
	}
	pages, err := roles.List(identity, roles.ListOpts{Name: "reader"}).AllPages(ctx)
	if err != nil {
		w.Fatal(err)
	}
	readers, err := roles.ExtractRoles(pages)
	if err != nil || len(readers) != 1 {
		w.Fatalf("roles named reader: %v, %v", readers, err)
	}
	if err := errors.Join(users.AddToGroup(ctx, identity, group.ID, user.ID).ExtractErr(), roles.Assign(ctx, identity, readers[0].ID, roles.AssignOpts{UserID: user.ID, ProjectID: project}).ExtractErr()); err != nil {
		w.Fatal(err)
	}
	reader := w.user(cloud.Login(w, sandboxtest.User("system:admin", "secret", "demo")).Provider.Token())
	who, err := reader.whoami(ctx)
	if err != nil || who.Username != "keystone:system:admin@default" || !slices.Equal(who.Groups, []string{"keystone:reader", "system:authenticated"}) {
		w.Errorf("a reader is %+v, %v", who, err)
	}
	if _, err := reader.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); err != nil {
		w.Errorf("a reader lists pods: %v", err)
	}
	if _, err := reader.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		w.Errorf("a reader lists secrets: %v", err)
	}
	if err := reader.writes(ctx); !apierrors.IsForbidden(err) {
		w.Errorf("a reader writes: %v", err)
	}
}

// manyAtOnce are tokens that are asked for at the same time: none is taken for another.
func (w *keystoneWorld) manyAtOnce(cloud *sandboxtest.Cloud) {
	w.Helper()
	errs := make(chan error)
	const many = 12
	for range many {
		token := cloud.Login(w, sandboxtest.User("demo", cloud.Passwords().Demo, "demo")).Provider.Token()
		go func() {
			_, err := w.user(token).whoami(w.Context())
			errs <- err
		}()
	}
	for range many {
		if err := <-errs; err != nil {
			w.Errorf("one of many: %v", err)
		}
	}
}

// keystoneWorld is an API server beside the webhook.
type keystoneWorld struct {
	*testing.T
	config *rest.Config
}

// client is a client of somebody.
type client struct{ *kubernetes.Clientset }

func (w *keystoneWorld) user(token string) client {
	config := rest.AnonymousClientConfig(w.config)
	config.BearerToken, config.QPS = token, -1
	return client{kubernetes.NewForConfigOrDie(config)}
}

func (c client) whoami(ctx context.Context) (authentication.UserInfo, error) {
	review, err := c.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authentication.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authentication.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

// writes tries, for show, to make a ConfigMap.
func (c client) writes(ctx context.Context) error {
	_, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func newKeystoneWorld(t *testing.T, program, url, project string) *keystoneWorld {
	t.Helper()
	dir := t.TempDir()
	port, err := kubetest.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	writeCertificate(t, dir)
	all := render(t, keystoneAuth, fmt.Sprintf(`addons: {openstack: {k8sKeystoneAuth: {values: {openstackAuthUrl: %q, projectId: %s}}}}`, url, project))
	here := strings.NewReplacer("/etc/kubernetes/pki", dir, keystoneFile, filepath.Join(dir, "keystone.yaml"), "127.0.0.1:8443", fmt.Sprintf("127.0.0.1:%d", port))
	objects := applied(t, all, "keystone-auth", known(someClouds, nil))
	var arguments []string
	list, _ := at(objects.get(t, "DaemonSet keystone-auth"), "spec", "template", "spec", "containers", 0, "args").([]any)
	for _, argument := range list {
		arguments = append(arguments, here.Replace(argument.(string)))
	}
	var said bytes.Buffer
	webhook := exec.Command(program, arguments...)
	webhook.Stdout, webhook.Stderr, webhook.SysProcAttr = &said, &said, process.Bound(true)
	if err := webhook.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = webhook.Process.Kill()
		_ = webhook.Wait()
		if t.Failed() {
			t.Logf("the webhook said:\n%s", said.String())
		}
	})

	write(t, filepath.Join(dir, "keystone.yaml"), here.Replace(keystoneKubeconfig(t, all)))
	settings := "kube-apiserver-arg:\n"
	for _, argument := range apiServerArguments(t, all.kubeadm(t)) {
		if strings.HasPrefix(argument, "authentication-") || strings.HasPrefix(argument, "authorization-") {
			settings += "  - " + here.Replace(argument) + "\n"
		}
	}
	write(t, filepath.Join(dir, "k3s.yaml"), settings)
	server, stop, err := throwaway.Start(t.Context(), filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), "bin", "k3s"), t.TempDir(), append(os.Environ(), "K3S_CONFIG_FILE="+filepath.Join(dir, "k3s.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	cluster, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GetKind() != "ClusterRoleBinding" {
			object.SetNamespace("kube-system")
		}
		if err := cluster.ApplyObjects(t.Context(), []*unstructured.Unstructured{object}); err != nil {
			t.Fatal(err)
		}
	}
	return &keystoneWorld{t, server.Config}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeCertificate writes an authority and a certificate as kubeadm makes them for the API
// server: for its names in the cluster, and not for the loopback.
func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	server := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"kubernetes", "kubernetes.default"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "apiserver.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})))
	for name, one := range map[string]*x509.Certificate{"ca.crt": authority, "apiserver.crt": server} {
		public := &signer.PublicKey
		if one == server {
			public = &key.PublicKey
		}
		der, err := x509.CreateCertificate(rand.Reader, one, authority, public, signer)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
}

// keystoneProgram is the webhook of the bundle's image.
func keystoneProgram(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	item := folder.Bill().Item("k8s-keystone-auth")
	if item == nil {
		t.Skip("the bundle is older than its k8s-keystone-auth")
	}
	image, err := folder.Image(*item)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(mutate.Extract(image))
	for {
		header, err := files.Next()
		if err != nil {
			t.Fatalf("no program in the image: %v", err)
		}
		if header.Name != "k8s-keystone-auth" {
			continue
		}
		path := filepath.Join(t.TempDir(), header.Name)
		text, err := io.ReadAll(files)
		if err == nil {
			err = os.WriteFile(path, text, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
}
