package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// errLost is an answer of the API server that did not arrive, and that nothing makes again.
var errLost = errors.New("the answer was lost")

// left wants that so many credentials are left, each in a Secret and, if there is one, in its cluster.
func (b *bench) left(credentials, made int) {
	b.t.Helper()
	known := b.credentials(member)
	secrets, list := &corev1.SecretList{}, &v1alpha1.ClusterList{}
	b.must(b.kube.List(b.t.Context(), secrets))
	b.must(b.kube.List(b.t.Context(), list))
	if len(known) != credentials || len(secrets.Items) != credentials || len(list.Items) != made {
		b.t.Fatalf("%d credentials in %d Secrets of %d clusters, want %d of %d", len(known), len(secrets.Items), len(list.Items), credentials, made)
	}
	for _, c := range list.Items {
		if c.Spec.Credential.ApplicationCredentialID != known[0].ID || c.CredentialSecret() != secrets.Items[0].Name {
			b.t.Errorf("the cluster has %+v, the project %s", c.Spec.Credential, known[0].ID)
		}
	}
}

// A creation that seems to fail is taken back only if the cluster is known not to be there.
func TestALostAnswerKeepsTheCredential(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stored, unread            bool
		status, credentials, made int
	}{
		"made":         {true, false, 202, 1, 1},
		"not made":     {false, false, 500, 0, 0},
		"nobody knows": {true, true, 500, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			template := b.template()
			b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if _, ok := o.(*v1alpha1.Cluster); !ok {
						return c.Create(ctx, o, opts...)
					}
					if test.stored {
						b.must(c.Create(ctx, o.DeepCopyObject().(client.Object), opts...))
					}
					return errLost
				},
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, ok := o.(*v1alpha1.Cluster); ok && test.unread {
						return errLost
					}
					return c.Get(ctx, key, o, opts...)
				},
			})
			b.do(member, http.MethodPost, clusters, object{"name": "shop", "cluster_template_id": template}).want(test.status)
			b.left(test.credentials, test.made)
		})
	}
}

// A client that goes while its cluster is written leaves a cluster with its credential.
func TestAClientThatGoesLeavesAWholeCluster(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{Create: func(during context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		err := c.Create(context.WithoutCancel(during), o, opts...)
		if _, ok := o.(*v1alpha1.Cluster); ok && err == nil {
			cancel()
			return during.Err()
		}
		return err
	}})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, clusters, strings.NewReader(`{"name": "shop", "cluster_template_id": "`+template+`"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Auth-Token", b.logins[member].Provider.Token())
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	if w.Code != http.StatusAccepted {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.left(1, 1)
}

// A new credential that the Secret has after all is not dropped.
func TestALostAnswerKeepsARotatedCredential(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	former := b.view(uuid).Cluster.Spec.Credential.ApplicationCredentialID
	b.server.o.Client = interceptor.NewClient(b.kube, interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
		err := c.Update(ctx, o, opts...)
		if _, ok := o.(*corev1.Secret); ok && err == nil {
			return errLost
		}
		return err
	}})
	b.do(member, http.MethodPatch, "/v1/credentials/"+uuid, nil).want(202)
	b.given(uuid, former)
}
