package kube

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/kube/retry"
)

func TestWhatIsAskedAgain(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err               error
		passes, unsettled bool
	}{
		"leader changed":    {apierrors.NewInternalError(errors.New("etcdserver: leader changed")), true, true},
		"learner":           {apierrors.NewInternalError(errors.New("rpc not supported for learner")), true, true},
		"etcd is full":      {apierrors.NewInternalError(errors.New("etcdserver: mvcc: database space exceeded")), false, false},
		"timeout":           {apierrors.NewTimeoutError("request did not complete", 1), true, true},
		"server timeout":    {apierrors.NewServerTimeout(pods, "patch", 1), true, true},
		"connection ended":  {fmt.Errorf("applying: %w", &url.Error{Op: "Patch", URL: "https://x", Err: io.ErrUnexpectedEOF}), true, true},
		"nobody listens":    {fmt.Errorf("dialing: %w", syscall.ECONNREFUSED), true, true},
		"reset":             {fmt.Errorf("reading: %w", syscall.ECONNRESET), true, true},
		"slow handshake":    {&url.Error{Op: "Patch", URL: "https://x", Err: slow{}}, true, true},
		"closed by http2":   {&url.Error{Op: "Patch", URL: "https://x", Err: errors.New("http2: client connection force closed via ClientConn.Close")}, true, true},
		"lost tunnel":       {fmt.Errorf("connecting from seed: %w", net.ErrClosed), true, true},
		"webhook to come":   {apierrors.NewInternalError(errors.New("failed calling webhook \"x\"")), true, false},
		"not found":         {apierrors.NewNotFound(pods, "x"), true, false},
		"may not":           {apierrors.NewForbidden(pods, "x", errors.New("no")), false, false},
		"wrong":             {apierrors.NewBadRequest("no"), false, false},
		"another's":         {apierrors.NewConflict(pods, "x", errors.New("no")), false, false},
		"another error":     {errors.New("no"), false, false},
		"webhook that says": {apierrors.NewInternalError(errors.New("admission webhook denied")), false, false},
	} {
		if passing(test.err) != test.passes || retry.Helps(test.err) != test.unsettled {
			t.Errorf("%s: passing is %v, unsettled is %v", name, passing(test.err), retry.Helps(test.err))
		}
	}
}

// slow is net/http's TLS handshake timeout, which is not exported.
type slow struct{}

func (slow) Error() string   { return "net/http: TLS handshake timeout" }
func (slow) Timeout() bool   { return true }
func (slow) Temporary() bool { return true }

// What another object is needed for comes after it: a token's Secret whose
// service account is missing is deleted by Kubernetes' token controller.
func TestObjectsComeInWaves(t *testing.T) {
	t.Parallel()
	objects, err := Decode(strings.NewReader(`{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: token}}
---
{apiVersion: example.org/v1, kind: Thing, metadata: {name: custom}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: controller}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: account}}
---
{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: secret}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.org}, spec: {group: example.org}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ns}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, wave := range waves(objects) {
		var names []string
		for _, object := range wave {
			names = append(names, object.GetName())
		}
		got = append(got, strings.Join(names, " "))
	}
	if want := []string{"things.example.org ns", "account secret", "controller", "token custom"}; !slices.Equal(got, want) {
		t.Errorf("waves %q, want %q", got, want)
	}
}
