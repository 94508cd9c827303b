package workload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// Cloud is OpenStack with the operator's login.
type Cloud struct {
	Clients openstack.Clients
	// UserID is the ID of the login's user.
	UserID string
	// Roles and AccessRules are those of the environment's credential.
	Roles       []string
	AccessRules []openstack.AccessRule
	// Login is how clusters log in.
	Login stacks.Cloud
}

// The keys of the Secret, and the owner of the credential.
const (
	keyClouds      = "clouds.yaml"
	keyAuthority   = "cacert"
	annotationUser = "slipway.sh/user-id"
	// labelMove makes clusterctl move the Secret with the cluster.
	labelMove = "clusterctl.cluster.x-k8s.io/move"
)

// SecretName is the name of the Secret with a cluster's credential. It differs from the
// Secret that the chart creates from values with a credential.
func SecretName(cluster string) string { return cluster + "-application-credential" }

// Step is the step of a cluster's credential in its ownership tag. It contains a hash of
// namespace and name, because joined names could be ambiguous.
func Step(key Key) string {
	sum := sha256.Sum256([]byte(key.String()))
	return StepPrefix + key.Name + "-" + hex.EncodeToString(sum[:4])
}

// StepPrefix begins the steps of clusters' credentials.
const StepPrefix = "cluster-"

// Marked returns the clusters that a Secret with the label is left of, also those that are
// not made yet and those whose deletion is not done.
func Marked(ctx context.Context, client kubernetes.Interface) ([]Key, error) {
	list, err := client.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: LabelCluster})
	if err != nil {
		return nil, fmt.Errorf("listing Secrets: %w", err)
	}
	var keys []Key
	for _, secret := range list.Items {
		keys = append(keys, Key{Namespace: secret.Namespace, Name: secret.Labels[LabelCluster]})
	}
	return keys, nil
}

// credential is the credential of a cluster.
func (m *Management) credential(c Cloud, key Key) openstack.ClusterCredential {
	return openstack.ClusterCredential{Clients: c.Clients, UserID: c.UserID, Roles: c.Roles, AccessRules: c.AccessRules,
		Ownership: openstack.Ownership{Environment: m.Environment, Step: Step(key)}}
}

// ensureCredential adopts the credential in the cluster's Secret if it can log in, else
// creates one and writes the Secret. changed reports whether it did.
func (m *Management) ensureCredential(ctx context.Context, c Cloud, key Key) (changed bool, err error) {
	secrets := m.Kube.Typed.CoreV1().Secrets(key.Namespace)
	secret, err := secrets.Get(ctx, SecretName(key.Name), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		secret = nil
	case err != nil:
		return false, fmt.Errorf("reading the credential's Secret: %w", err)
	case secret.Labels[LabelCluster] != key.Name:
		return false, fault.New("Secret "+key.Namespace+"/"+secret.Name, errors.New("it exists already, but does not belong to this cluster"), "delete or rename it, or choose another --namespace")
	default:
		if works, err := c.works(ctx, secret); err != nil || works {
			return false, err
		}
	}
	id, text, err := m.credential(c, key).Make(ctx)
	if err != nil {
		return false, err
	}
	wanted, err := c.secret(key, id, text)
	if err != nil {
		return false, err
	}
	if secret == nil {
		_, err = secrets.Create(ctx, wanted, metav1.CreateOptions{})
	} else {
		secret.Data, secret.Annotations = wanted.Data, wanted.Annotations
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return false, fmt.Errorf("writing the credential's Secret: %w", err)
	}
	return true, nil
}

func (c Cloud) secret(key Key, id, text string) (*corev1.Secret, error) {
	clouds, err := yaml.Marshal(map[string]any{"clouds": c.Login.Clouds(id, text)})
	if err != nil {
		return nil, fmt.Errorf("writing clouds.yaml: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: SecretName(key.Name),
		Labels:      map[string]string{LabelCluster: key.Name, clusterapi.Label: key.Name, labelMove: "true"},
		Annotations: map[string]string{annotationUser: c.UserID}},
		Data: map[string][]byte{keyClouds: clouds}}
	if c.Login.Authority != "" {
		secret.Data[keyAuthority] = []byte(c.Login.Authority)
	}
	return secret, nil
}

// works reports whether the credential in a Secret can log in, whoever created it. It is an
// error if the cloud does not answer.
func (c Cloud) works(ctx context.Context, secret *corev1.Secret) (bool, error) {
	opened, err := cloud.Open(ctx, cloud.Options{Cloud: "openstack", CloudsYAML: secret.Data[keyClouds], CABundle: secret.Data[keyAuthority]})
	if err == nil {
		opened.Close()
		return true, nil
	}
	var answer *cloud.Error
	if errors.As(err, &answer) {
		if slices.Contains([]int{http.StatusUnauthorized, http.StatusNotFound}, answer.Status) {
			return false, nil // it was deleted, or its user was
		}
		return false, err
	}
	var known *fault.Fault
	if errors.As(err, &known) && known.Exit == fault.ExitUsage {
		return false, nil // the Secret does not contain a clouds.yaml
	}
	return false, err
}

// revoke revokes the cluster's credentials and deletes their Secret. It reports credentials
// that another user must revoke.
func (m *Management) revoke(ctx context.Context, c Cloud, key Key) (notes []string, err error) {
	secrets := m.Kube.Typed.CoreV1().Secrets(key.Namespace)
	secret, err := secrets.Get(ctx, SecretName(key.Name), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading the credential's Secret: %w", err)
	}
	there := err == nil && secret.Labels[LabelCluster] == key.Name
	if _, err := m.credential(c, key).Revoke(ctx); err != nil {
		return nil, err
	}
	if !there {
		return nil, nil
	}
	if user := secret.Annotations[annotationUser]; user != "" && user != c.UserID {
		notes = append(notes, fmt.Sprintf("application credential %s stays: only user %s, who created it, can delete it", idIn(secret), user))
	}
	if err := secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return notes, fmt.Errorf("deleting the credential's Secret: %w", err)
	}
	return notes, nil
}

// idIn returns the ID of the application credential in a Secret.
func idIn(secret *corev1.Secret) string {
	var document struct {
		Clouds map[string]struct {
			Auth struct {
				ID string `json:"application_credential_id"`
			} `json:"auth"`
		} `json:"clouds"`
	}
	if yaml.Unmarshal(secret.Data[keyClouds], &document) != nil { // its error could quote the secret
		return ""
	}
	return strings.TrimSpace(document.Clouds["openstack"].Auth.ID)
}
