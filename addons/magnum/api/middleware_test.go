package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func systemScope(b *bench) gophercloud.AuthOptions {
	o := sandboxtest.User("admin", b.cloud.Passwords().Admin, "admin")
	o.Scope = &gophercloud.AuthScope{System: true}
	return o
}

// lines is a log that tests read.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) find(t *testing.T, method string) map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range strings.Split(l.text.String(), "\n") {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["method"] == method {
			return entry
		}
	}
	t.Fatalf("no entry of %s in %s", method, l.text.String())
	return nil
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	log := &lines{}
	b := newBench(t, func(o *Options) { o.Log = slog.New(slog.NewJSONHandler(log, nil)) })
	uuid := b.cluster(b.template())
	made := log.find(t, http.MethodPost)
	if made["project_id"] != b.project || made["user_id"] == "" || made["status"] != 201.0 || !strings.HasPrefix(made["object"].(string), "clustertemplate ") {
		t.Errorf("%v", made)
	}
	b.do(alien, http.MethodDelete, clusters+"/"+uuid, nil).want(404)
	if refused := log.find(t, http.MethodDelete); refused["status"] != 404.0 || !strings.Contains(refused["error"].(string), "could not be found") {
		t.Errorf("%v", refused)
	}
	b.do(nobody, http.MethodGet, clusters, nil).want(401)
	if unknown := log.find(t, http.MethodGet); unknown["status"] != 401.0 || unknown["user_id"] != nil {
		t.Errorf("%v", unknown)
	}
	for _, who := range []string{member, alien} {
		if strings.Contains(log.text.String(), b.logins[who].Provider.Token()) {
			t.Error("a token in the log")
		}
	}
	secret := &corev1.SecretList{}
	b.must(b.kube.List(t.Context(), secret))
	_, rest, _ := strings.Cut(string(secret.Items[0].Data["clouds.yaml"]), "application_credential_secret: ")
	if word := strings.Fields(rest)[0]; word == "" || strings.Contains(log.text.String(), word) {
		t.Errorf("the credential's secret %q is in the log", word)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Origins = []string{"https://horizon.example"} })
	const origin = "Access-Control-Allow-Origin"
	ask := func(from string) *answer {
		return b.do(nobody, http.MethodOptions, clusters, nil, "Origin", from, "Access-Control-Request-Method", "POST")
	}
	if a := ask("https://horizon.example"); a.status != 200 || a.header.Get(origin) != "https://horizon.example" || !strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "PATCH") {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := ask("https://evil.example"); a.header.Get(origin) != "" {
		t.Errorf("%v", a.header)
	}
	if a := b.do(member, http.MethodGet, clusters, nil, "Origin", "https://horizon.example").want(200); a.header.Get(origin) == "" || !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "OpenStack-API-Version") {
		t.Errorf("%v", a.header)
	}
}

// TestAddresses has the links of every address; TestOpenStackClientAddresses has
// the clients follow them.
func TestAddresses(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.TrustForwarded = true })
	b.template()
	b.template("name", "second")
	first := func(headers ...string) *answer {
		return b.do(member, http.MethodGet, "/clustertemplates?limit=1", nil, headers...).want(200)
	}
	for want, headers := range map[string][]string{
		b.address:                   nil,
		"https://h:9511":            {"X-Forwarded-Proto", "https", "X-Forwarded-Host", "h", "X-Forwarded-Port", "9511"},
		"https://h":                 {"X-Forwarded-Proto", "https, http", "X-Forwarded-Host", "h, inner", "X-Forwarded-Port", "443"},
		"https://f.example":         {"Forwarded", `for=1.2.3.4;proto=https;host="f.example", for=10.0.0.1`},
		"https://h/container-infra": {"X-Forwarded-Proto", "https", "X-Forwarded-Host", "h", "X-Forwarded-Prefix", "/container-infra/v1"},
	} {
		a := first(headers...)
		if next := a.str("next"); !strings.HasPrefix(next, want+"/v1/clustertemplates?") {
			t.Errorf("%v: next %q, want %s", headers, next, want)
		}
		link := a.list("clustertemplates")[0]["links"].([]any)[1].(map[string]any)["href"].(string)
		if !strings.HasPrefix(link, want+"/clustertemplates/") {
			t.Errorf("%v: bookmark %q", headers, link)
		}
	}
	// magnumclient cuts the host off and a leading /v1, and appends the rest to
	// the catalog's address.
	for agent, want := range map[string]string{"python-magnumclient": "", "openstacksdk/4.0.0": "/container-infra"} {
		a := first("X-Forwarded-Prefix", "/container-infra", "User-Agent", agent)
		if next := a.str("next"); !strings.HasPrefix(next, b.address+want+"/v1/clustertemplates?") {
			t.Errorf("next of %s %q", agent, next)
		}
	}
	b.do(member, http.MethodGet, "/v1/container-infra/v1/clustertemplates", nil, "X-Forwarded-Prefix", "/container-infra").want(200)
	b.do(member, http.MethodGet, "/v1/container-infra/v1/clustertemplates", nil).want(404)
	b.do(member, http.MethodGet, "/v1/container-infrared/v1/clustertemplates", nil, "X-Forwarded-Prefix", "/container-infra").want(404)
	// A proxy that does not cut the prefix off.
	o := b.server.o
	o.PublicEndpoint = b.address + "/container-infra/v1"
	s, err := New(o)
	b.must(err)
	b.serve(s)
	for _, path := range []string{"/container-infra/v1/clustertemplates", "/container-infra/clustertemplates", "/container-infra/v1", "/clustertemplates",
		"/container-infra/v1/container-infra/v1/clustertemplates"} {
		b.do(member, http.MethodGet, path, nil).want(200)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a server without anything")
	}
	o.PublicEndpoint = "cloud.example"
	if _, err := New(o); err == nil {
		t.Error("a public endpoint without a scheme")
	}
}

// broken is a Keystone that does not answer, or a cloud.
type broken struct{ Lookup }

func (broken) Validate(context.Context, string, string) (*keystone.Token, error) {
	return nil, keystone.ErrUnavailable
}

func (broken) Forget(string) {}

func (broken) ProjectExistsFor(context.Context, string, string) (bool, error) {
	return false, keystone.ErrUnavailable
}

func (broken) Image(context.Context, *keystone.Token, string) (openstack.Image, error) {
	return openstack.Image{}, &openstack.Error{Object: "image", Reason: openstack.ErrUnavailable}
}

func TestUnavailableIs503(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	away := func(a *answer) {
		t.Helper()
		a.want(503)
		if a.header.Get("Retry-After") == "" || a.list("errors")[0]["code"] != "server" {
			t.Errorf("%v %s", a.header, a.text)
		}
	}
	tokens := b.server.o.Tokens
	b.server.o.Tokens = broken{}
	away(b.do(member, http.MethodGet, clusters, nil))
	// python-magnumclient breaks on that header, and would not show the error.
	if a := b.do(member, http.MethodGet, clusters, nil, "User-Agent", "python-magnumclient").want(503); a.header.Get("Retry-After") != "" || a.list("errors")[0]["code"] != "server" {
		t.Errorf("to python-magnumclient: %v %s", a.header, a.text)
	}
	b.do(nobody, http.MethodGet, "/", nil).want(200)
	b.server.o.Tokens = tokens
	cloud := b.server.o.Cloud
	b.server.o.Cloud = broken{cloud}
	away(b.do(member, http.MethodPost, clusters, object{"cluster_template_id": template}))
	b.server.o.Cloud = cloud
	kube := b.server.o.Client
	fail := func(err error) client.Client {
		return interceptor.NewClient(b.kube, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if _, ok := o.(*v1alpha1.Cluster); ok {
				return err
			}
			return c.Create(ctx, o, opts...)
		}})
	}
	b.server.o.Client = fail(apierrors.NewTooManyRequests("slow down", 1))
	away(b.do(member, http.MethodPost, clusters, object{"cluster_template_id": template}))
	b.server.o.Client = fail(errors.New("secret inside"))
	if a := b.do(member, http.MethodPost, clusters, object{"cluster_template_id": template}).want(500); strings.Contains(a.text, "inside of") || strings.Contains(a.text, "secret") {
		t.Errorf("%s", a.text)
	}
	b.server.o.Client = kube
	if left := b.credentials(member); len(left) != 0 {
		t.Errorf("credentials of clusters that were not made: %v", left)
	}
	secrets := &corev1.SecretList{}
	b.must(b.kube.List(t.Context(), secrets))
	if len(secrets.Items) != 0 {
		t.Errorf("%d Secrets of clusters that were not made", len(secrets.Items))
	}
	b.do(member, http.MethodGet, clusters, nil).want(200).is("clusters", []any{})
}

// An API server whose etcd changes its leader fails what it has stored, or not: neither is
// a failure of the client, and nothing is made twice.
func TestALostLeaderIsNoFailure(t *testing.T) {
	t.Parallel()
	lost := apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	for name, stored := range map[string]bool{"stored": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.template() // the namespace is there
			tries := 0
			b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, ok := o.(*v1alpha1.ClusterTemplate); !ok {
					return c.Create(ctx, o, opts...)
				}
				if tries++; tries > 1 {
					return c.Create(ctx, o, opts...)
				}
				if stored {
					b.must(c.Create(ctx, o.DeepCopyObject().(client.Object), opts...))
				}
				return lost
			}})
			uuid := b.template()
			if tries != 2 {
				t.Errorf("%d tries", tries)
			}
			b.server.o.Client = b.kube
			if list := b.do(member, http.MethodGet, templates, nil).want(200).list("clustertemplates"); len(list) != 2 || list[0]["uuid"] != uuid && list[1]["uuid"] != uuid {
				t.Errorf("%v", list)
			}
			b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return lost }})
			if a := b.do(member, http.MethodPatch, templates+"/"+uuid, []object{patchOp("replace", "/name", "new")}).want(503); a.header.Get("Retry-After") == "" {
				t.Errorf("%v", a.header)
			}
		})
	}
}

// Somebody else's object of the name stays whose it is, also after a leader was lost.
func TestAnObjectOfSomebodyElseIsAConflict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.template() // the namespace is there
	first := true
	b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if template, ok := o.(*v1alpha1.ClusterTemplate); ok && first {
			first = false
			other := template.DeepCopy()
			other.Annotations[v1alpha1.AnnotationCreatedAt] = "2001-01-01T00:00:00Z"
			b.must(c.Create(ctx, other, opts...))
			return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
		}
		return c.Create(ctx, o, opts...)
	}})
	if a := b.do(member, http.MethodPost, templates, templateBody()); a.status == http.StatusCreated {
		t.Errorf("it was made: %s", a.text)
	}
}

// Two writers at a time: the change is made again on the newest object.
func TestConflictIsRetried(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uuid := b.template()
	meddled := false
	b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
		if !meddled {
			meddled = true
			other := &v1alpha1.ClusterTemplate{}
			b.must(b.kube.Get(ctx, client.ObjectKeyFromObject(o), other))
			other.Spec.Tags = "meddled"
			b.must(b.kube.Update(ctx, other))
		}
		return c.Update(ctx, o, opts...)
	}})
	b.do(member, http.MethodPatch, templates+"/"+uuid, []object{patchOp("replace", "/name", "new")}).want(200).is("name", "new").is("tags", "meddled")
	if !meddled {
		t.Error("nobody meddled")
	}
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "disabled")
	b := newBench(t, func(o *Options) { o.DisableFile = file })
	b.do(nobody, http.MethodGet, "/healthcheck", nil).want(200)
	b.must(os.WriteFile(file, nil, 0o600))
	if a := b.do(nobody, http.MethodGet, "/healthcheck", nil); a.status != 503 || a.text != "DISABLED BY FILE" {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// silent never answers before the request's time is over.
type silent struct{ Lookup }

func (silent) Image(ctx context.Context, _ *keystone.Token, _ string) (openstack.Image, error) {
	<-ctx.Done()
	return openstack.Image{}, ctx.Err()
}

func TestRequestsEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Cloud, o.RequestTime = silent{o.Cloud}, 200*time.Millisecond })
	b.do(member, http.MethodPost, templates, templateBody()).want(503)
}

func TestPanicIs500(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Cloud = missing{} })
	b.do(member, http.MethodPost, templates, templateBody()).want(500)
	b.do(member, http.MethodGet, templates, nil).want(200)
}

// missing is a cloud without methods.
type missing struct{ Lookup }

// An operator's policy file.
func TestPolicyFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) {
		var err error
		if o.Policy, err = policy.New([]byte("cluster:create: role:reader and project_id:%(project_id)s\nclustertemplate:create: '!'\n")); err != nil {
			t.Fatal(err)
		}
	})
	b.do(member, http.MethodPost, templates, templateBody()).want(403)
	b.do(reader, http.MethodPost, clusters, object{"cluster_template_id": "none"}).want(404)
}

func TestBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.address+clusters, io.MultiReader(strings.NewReader(`{"name":`), failing{}))
	b.must(err)
	r.Header.Set("X-Auth-Token", b.logins[member].Provider.Token())
	if response, err := http.DefaultClient.Do(r); err == nil {
		response.Body.Close()
		if response.StatusCode < 400 {
			t.Errorf("%d", response.StatusCode)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestRevokedMeanwhile: a token that a service refuses is answered as one that
// Keystone refuses, so that clients log in again, and is not remembered any more.
func TestRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	b.do(member, http.MethodGet, clusters, nil).want(200) // it is remembered
	b.must(tokens.Revoke(t.Context(), b.cloud.Admin.Identity(t), b.logins[member].Provider.Token()).Err)
	b.do(member, http.MethodGet, clusters, nil).want(200)
	refused := b.do(member, http.MethodPost, clusters, object{"cluster_template_id": template}).want(401)
	if refused.header.Get("WWW-Authenticate") == "" || strings.Contains(refused.text, "errors") {
		t.Errorf("%v %s", refused.header, refused.text)
	}
	b.do(member, http.MethodGet, clusters, nil).want(401)
	b.do(other, http.MethodPost, clusters, object{"cluster_template_id": template}).want(202)
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for detail, want := range map[string]string{
		"The flavor m1.small is too small: it has 1 vCPU.": "The flavor m1.small is too small: it has 1 vCPU",
		"Somebody else changed it. Try again.":             "Somebody else changed it",
		"The version v1.34.4 is old.\nUpgrade.":            "The version v1.34.4 is old",
		"No stop at all":                                   "No stop at all",
		"":                                                 "",
	} {
		if got := title(detail); got != want {
			t.Errorf("%q: %q, want %q", detail, got, want)
		}
	}
}

// TestDeletedMeanwhile: what is deleted between the look and the write is missing,
// and a project that is being deleted takes nothing new: neither is a fault of the
// server.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template, uuid := b.ready()
	kube := b.server.o.Client
	b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{
		Update: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.UpdateOption) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, o.GetName())
		},
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			err := apierrors.NewForbidden(schema.GroupResource{Resource: "clusters"}, o.GetName(), errors.New("it is being terminated"))
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return err
		},
	})
	b.do(member, http.MethodPatch, clusters+"/"+uuid, []object{patchOp("replace", "/node_count", 3)}).want(404).says("deleted at the same time")
	b.do(member, http.MethodPost, clusters, object{"cluster_template_id": template}).want(409).says("being deleted")
	b.server.o.Client = kube
	b.do(member, http.MethodPatch, clusters+"/"+uuid, []object{patchOp("replace", "/node_count", 3)}).want(202)
}
