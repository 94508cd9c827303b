package janitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// The keys of an identity Secret, as CAPO has them.
const (
	cloudsKey    = "clouds.yaml"
	authorityKey = "cacert"
)

// credential gives access to a cluster's project.
type credential struct {
	// secret is nil if the credential belongs to a ClusterIdentity: that is never deleted.
	secret  *corev1.Secret
	options cloud.Options
	// authURL distinguishes clouds.
	authURL string
}

// errNoCredential means that the credential for the cloud does not exist or is not usable: waiting
// alone may not fix that.
var errNoCredential = errors.New("no usable credential")

func missing(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errNoCredential, fmt.Errorf(format, args...))
}

// credential reads the identity of a cluster, always from the API server: the janitor may get
// Secrets, but not list or watch them (row F154).
func (r *reconciler) credential(ctx context.Context, t target) (*credential, error) {
	at := types.NamespacedName{Namespace: t.object.GetNamespace(), Name: t.identity.name}
	if t.identity.name == "" {
		return nil, missing("the OpenStackCluster has no spec.identityRef")
	}
	own := t.identity.kind != identityOfCluster
	if !own {
		var err error
		if at, err = r.secretOfIdentity(ctx, t); err != nil {
			return nil, err
		}
	}
	secret := &corev1.Secret{}
	if err := r.reader.Get(ctx, at, secret); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, missing("Secret %s does not exist", at)
		}
		return nil, fmt.Errorf("reading Secret %s: %w", at, err)
	}
	c, err := newCredential(secret, t.identity)
	if err != nil {
		return nil, missing("Secret %s: %w", at, err)
	}
	c.options.UserAgent, c.options.Wrap = r.options.UserAgent, r.options.Wrap
	if own {
		c.secret = secret
	}
	return c, nil
}

// secretOfIdentity finds the Secret of an OpenStackClusterIdentity, if the
// cluster's namespace may use it.
func (r *reconciler) secretOfIdentity(ctx context.Context, t target) (types.NamespacedName, error) {
	identity := &unstructured.Unstructured{}
	identity.SetGroupVersionKind(identityKind())
	if err := r.reader.Get(ctx, types.NamespacedName{Name: t.identity.name}, identity); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return types.NamespacedName{}, missing("OpenStackClusterIdentity %s does not exist", t.identity.name)
		}
		return types.NamespacedName{}, fmt.Errorf("reading OpenStackClusterIdentity %s: %w", t.identity.name, err)
	}
	if err := r.permitted(ctx, t, identity); err != nil {
		return types.NamespacedName{}, err
	}
	name, _, _ := unstructured.NestedString(identity.Object, "spec", "secretRef", "name")
	namespace, _, _ := unstructured.NestedString(identity.Object, "spec", "secretRef", "namespace")
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

func (r *reconciler) permitted(ctx context.Context, t target, identity *unstructured.Unstructured) error {
	raw, given, _ := unstructured.NestedMap(identity.Object, "spec", "namespaceSelector")
	if !given {
		return nil
	}
	text, err := yaml.Marshal(raw)
	if err != nil {
		return fmt.Errorf("reading the selector of OpenStackClusterIdentity %s: %w", identity.GetName(), err)
	}
	var parsed metav1.LabelSelector
	if err := yaml.UnmarshalStrict(text, &parsed); err != nil {
		return missing("OpenStackClusterIdentity %s: namespaceSelector: %w", identity.GetName(), err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&parsed)
	if err != nil {
		return missing("OpenStackClusterIdentity %s: namespaceSelector: %w", identity.GetName(), err)
	}
	namespace := &corev1.Namespace{}
	if err := r.reader.Get(ctx, types.NamespacedName{Name: t.object.GetNamespace()}, namespace); err != nil {
		return fmt.Errorf("reading Namespace %s: %w", t.object.GetNamespace(), err)
	}
	if !selector.Matches(labels.Set(namespace.Labels)) {
		return missing("OpenStackClusterIdentity %s does not allow namespace %s", identity.GetName(), namespace.Name)
	}
	return nil
}

// newCredential reads a Secret as CAPO does.
func newCredential(secret *corev1.Secret, ref identityRef) (*credential, error) {
	text, ok := secret.Data[cloudsKey]
	if !ok {
		return nil, fmt.Errorf("it has no key %s", cloudsKey)
	}
	entry, err := cloud.ParsePortable(text, ref.cloud)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", cloudsKey, err)
	}
	authorities := bytes.Join([][]byte{secret.Data[authorityKey], entry.Authorities}, []byte("\n"))
	return &credential{authURL: entry.AuthURL,
		options: cloud.Options{Cloud: ref.cloud, Region: ref.region, CloudsYAML: entry.CloudsYAML, CABundle: bytes.TrimSpace(authorities)}}, nil
}

// open logs in. A credential that Keystone no longer knows gives errNoCredential.
func (c *credential) open(ctx context.Context) (*cloud.Cloud, cloud.Token, error) {
	opened, err := cloud.Open(ctx, c.options)
	if err != nil {
		var answer *cloud.Error
		if errors.As(err, &answer) && refused(answer.Status) {
			return nil, cloud.Token{}, missing("the credential is refused: %w", err)
		}
		return nil, cloud.Token{}, err
	}
	token, err := opened.Token()
	if err == nil && token.ProjectID == "" {
		err = missing("the credential is not scoped to a project")
	}
	if err != nil {
		opened.Close()
		return nil, token, err
	}
	return opened, token, nil
}

// refused reports Keystone's answers to a credential that was deleted, or whose user or project was
// deleted.
func refused(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusNotFound || status == http.StatusForbidden
}
