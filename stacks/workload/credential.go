package workload

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/cloudconfig"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
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
	// CloudProvider are the access rules of a second credential, for the cloud controller
	// manager and the CSI drivers; nil means that a cluster has one for all.
	CloudProvider []openstack.AccessRule
	// Login is how clusters log in.
	Login stacks.Cloud
	// Operator is the login in the environment's project, and Administrator may make projects:
	// for clusters in other projects. Without them there are none.
	Operator      *cloud.Cloud
	Administrator openstack.Administrator

	// home is the project of a cluster, and inside the login there; it is nil in the
	// environment's own, and as long as the project is not made.
	home   home
	inside *cloud.Cloud
}

// The keys of the Secret, and the owner of the credential.
const (
	keyClouds    = "clouds.yaml"
	keyAuthority = "cacert"
	// keyCloudProvider is the clouds.yaml of the second credential, which the chart gives
	// to what runs on the cluster.
	keyCloudProvider = "cloud-provider.yaml"

	annotationUser = "slipway.sh/user-id"
	// labelMove makes clusterctl move the Secret with the cluster.
	labelMove = "clusterctl.cluster.x-k8s.io/move"
)

// SecretName is the name of the Secret with a cluster's credential. It differs from the
// Secret that the chart creates from values with a credential.
func SecretName(cluster string) string { return cluster + "-application-credential" }

// Step is the step of a cluster's credential in its ownership tag.
func Step(key Key) string { return ownership.ClusterStep(key.Namespace, key.Name) }

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

// ensureCredential adopts the credentials in the Secret of a cluster that is not there yet if
// they can log in, else creates new ones and writes the Secret. changed reports whether it did.
func (m *Management) ensureCredential(ctx context.Context, c Cloud, key Key) (changed bool, err error) {
	secret, err := m.credentialSecret(ctx, key)
	if err != nil {
		return false, err
	}
	if secret != nil {
		if works, err := c.works(ctx, secret); err != nil || works {
			return false, err
		}
	}
	known := knownIn(secret)
	data, err := m.issue(ctx, c, key)
	if err != nil {
		return false, err
	}
	made := c.secret(key, data)
	secrets := m.Kube.Typed.CoreV1().Secrets(key.Namespace)
	if secret == nil {
		_, err = secrets.Create(ctx, made, metav1.CreateOptions{})
	} else {
		secret.Data, secret.Annotations = made.Data, made.Annotations
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return false, errors.Join(outrun(object(key)), m.withdraw(ctx, c, key, idsIn(made)))
	}
	if err != nil {
		return false, fmt.Errorf("writing the credential's Secret: %w", err)
	}
	lost := m.credential(c, key) // only now: another run's may be in the Secret until then
	lost.Known = known
	_, err = lost.Revoke(ctx, idsIn(made)...) // nobody has their secrets
	return true, err
}

// outrun is the error of a run that another one is ahead of.
func outrun(what string) error {
	return fault.New(what, errors.New("another run makes it at the same time"), "wait for that run, then run the same command again")
}

// withdraw deletes credentials that came into no Secret.
func (m *Management) withdraw(ctx context.Context, c Cloud, key Key, ids []string) (err error) {
	for _, id := range ids {
		err = errors.Join(err, m.credential(c, key).Delete(ctx, id))
	}
	return err
}

// credentialSecret returns the Secret with the cluster's credential, nil if there is none. It
// refuses one of others.
func (m *Management) credentialSecret(ctx context.Context, key Key) (*corev1.Secret, error) {
	return m.ownSecret(ctx, key, SecretName(key.Name), LabelCluster, "reading the credential's Secret")
}

// ownSecret returns a Secret of the cluster, which has the cluster's name as a label; nil if there
// is none. It refuses one of others.
func (m *Management) ownSecret(ctx context.Context, key Key, name, label, doing string) (*corev1.Secret, error) {
	secret, err := m.Kube.Typed.CoreV1().Secrets(key.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", doing, err)
	case secret.Labels[label] != key.Name:
		return nil, fault.New("Secret "+key.Namespace+"/"+secret.Name, errors.New("it exists already, but does not belong to this cluster"), "delete or rename it, or choose another --namespace")
	}
	return secret, nil
}

// issue creates new credentials for a cluster beside those that it has, and returns the data
// of its Secret. Those with access rules are tried; if they do not suffice they are deleted.
func (m *Management) issue(ctx context.Context, c Cloud, key Key) (map[string][]byte, error) {
	kinds := map[string][]openstack.AccessRule{keyClouds: c.AccessRules}
	if c.CloudProvider != nil {
		kinds[keyCloudProvider] = c.CloudProvider
	}
	data := map[string][]byte{}
	if c.Login.Authority != "" {
		data[keyAuthority] = []byte(c.Login.Authority)
	}
	var refused error
	var made []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		one := m.credential(c, key)
		one.AccessRules, one.Variant = kinds[kind], kind+"-"+rand.Text()
		id, text, err := one.Make(ctx)
		if err != nil {
			return nil, err
		}
		if data[kind], err = yaml.Marshal(map[string]any{"clouds": c.Login.Clouds(id, text)}); err != nil {
			return nil, fmt.Errorf("writing %s: %w", kind, err)
		}
		made = append(made, id)
		if len(kinds[kind]) > 0 {
			refused = errors.Join(refused, uses()[kind].tryRules(ctx, data[kind], data[keyAuthority]))
		}
	}
	if refused == nil {
		return data, nil
	}
	return nil, errors.Join(refused, m.withdraw(ctx, c, key, made))
}

func (c Cloud) secret(key Key, data map[string][]byte) *corev1.Secret {
	annotations := c.home.annotations()
	annotations[annotationUser] = c.UserID
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: SecretName(key.Name),
		Labels:      map[string]string{LabelCluster: key.Name, clusterapi.Label: key.Name, labelMove: "true"},
		Annotations: annotations}, Data: data}
}

// works reports whether all credentials in a Secret can log in, whoever created them. It is an
// error if the cloud does not answer.
func (c Cloud) works(ctx context.Context, secret *corev1.Secret) (bool, error) {
	works, err := loginWorks(ctx, secret.Data[keyClouds], secret.Data[keyAuthority])
	if second := secret.Data[keyCloudProvider]; works && err == nil && len(second) > 0 {
		works, err = loginWorks(ctx, second, secret.Data[keyAuthority])
	}
	return works, err
}

func loginWorks(ctx context.Context, clouds, authority []byte) (bool, error) {
	if len(clouds) == 0 {
		return false, nil
	}
	opened, err := cloud.Open(ctx, cloud.Options{Cloud: "openstack", CloudsYAML: clouds, CABundle: authority})
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

// revoke revokes the cluster's credentials, leaves its project and deletes their Secret. It
// reports credentials that another user must revoke, and what stays in the project.
func (m *Management) revoke(ctx context.Context, c Cloud, key Key, progress func(string)) (notes []string, err error) {
	if m.leaving != nil { // the last one to leave a project deletes it
		m.leaving.Lock()
		defer m.leaving.Unlock()
	}
	secrets := m.Kube.Typed.CoreV1().Secrets(key.Namespace)
	secret, err := secrets.Get(ctx, SecretName(key.Name), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading the credential's Secret: %w", err)
	}
	there := err == nil && secret.Labels[LabelCluster] == key.Name
	left := m.credential(c, key)
	if there {
		left.Known = knownIn(secret)
	}
	if _, err := left.Revoke(ctx); err != nil {
		return nil, err
	}
	stays, err := m.leave(ctx, c, key, progress)
	if err != nil || !there {
		return stays, err
	}
	if user := secret.Annotations[annotationUser]; user != "" && user != c.UserID {
		notes = staying(idsIn(secret), user)
	}
	notes = slices.Concat(notes, formerOf(secret).notes(c.UserID), stays)
	if err := secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return notes, fmt.Errorf("deleting the credential's Secret: %w", err)
	}
	return notes, nil
}

// staying says which credentials only their user can delete.
func staying(ids []string, user string) (notes []string) {
	for _, id := range ids {
		notes = append(notes, fmt.Sprintf("application credential %s stays: only user %s, who created it, can delete it", id, user))
	}
	return notes
}

// idsIn returns the IDs of the application credentials in a Secret: that of Cluster API, and
// that of the cloud provider if it has one of its own.
func idsIn(secret *corev1.Secret) []string {
	var ids []string
	for _, key := range []string{keyClouds, keyCloudProvider} {
		if id := idIn(secret.Data[key]); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// knownIn returns the IDs of all credentials that a Secret tells of, also of those that a
// rotation replaced; none if there is no Secret.
func knownIn(secret *corev1.Secret) []string {
	if secret == nil {
		return nil
	}
	ids, old := idsIn(secret), formerOf(secret)
	for _, one := range append([]former{old}, old.Earlier...) {
		ids = append(ids, one.IDs...)
	}
	return ids
}

// idIn returns the ID of the application credential in a clouds.yaml.
func idIn(clouds []byte) string { return cloudconfig.ID(clouds) }
