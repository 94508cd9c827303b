package workload

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// A cluster can have object stores: each is a container and a key pair for the API of S3. What
// they are is in a Secret beside the cluster's credential, from before they are made until
// nothing is left of them. The chart puts the Secret of each on the cluster.

const (
	// labelStores is the label of that Secret; its value is the cluster's name.
	labelStores = "slipway.sh/object-stores-of"
	// recordSuffix and manifestSuffix end the keys of a store in it: what Slipway knows of it, and
	// the Secret for the cluster.
	recordSuffix, manifestSuffix = ".json", ".yaml"
	// keyHarbor are values for Harbor that are nobody else's: passwords.
	keyHarbor = "harbor-values"
)

// StoresSecretName is the name of the Secret with a cluster's object stores.
func StoresSecretName(cluster string) string { return cluster + "-object-stores" }

// objectStore is what the Secret has of one: not only what it is, but also where it was made.
type objectStore struct {
	Bucket string `json:"bucket"`
	openstack.EC2Pair
	UserID    string `json:"userID"`
	ProjectID string `json:"projectID"`
}

func (s objectStore) container(m *Management, c Cloud, key Key) openstack.ObjectStore {
	return openstack.ObjectStore{Clients: c.Clients, Ownership: openstack.Ownership{Environment: m.Environment, Step: Step(key)}, Container: s.Bucket}
}

// storesSecret returns the Secret with the cluster's object stores, nil if there is none.
func (m *Management) storesSecret(ctx context.Context, key Key) (*corev1.Secret, error) {
	return m.ownSecret(ctx, key, StoresSecretName(key.Name), labelStores, "reading the object stores' Secret")
}

// stores returns the Secret with the cluster's object stores, nil if there is none, and what it has
// of each.
func (m *Management) stores(ctx context.Context, key Key) (*corev1.Secret, map[string]objectStore, error) {
	secret, err := m.storesSecret(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	records, err := recordsIn(secret)
	return secret, records, err
}

// ObjectStores are the names of a cluster's object stores.
func (m *Management) ObjectStores(ctx context.Context, key Key) ([]string, error) {
	_, records, err := m.stores(ctx, key)
	return slices.Sorted(maps.Keys(records)), err
}

// recordsIn reads what the Secret, which may be nil, has of each object store.
func recordsIn(secret *corev1.Secret) (map[string]objectStore, error) {
	all := map[string]objectStore{}
	if secret == nil {
		return all, nil
	}
	for file, text := range secret.Data {
		name, is := strings.CutSuffix(file, recordSuffix)
		if !is {
			continue
		}
		var one objectStore
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("reading %s in Secret %s/%s: %w", file, secret.Namespace, secret.Name, err)
		}
		all[name] = one
	}
	return all, nil
}

// ensureStores makes the object stores that the values name, and their Secret before them.
func (m *Management) ensureStores(ctx context.Context, c Cloud, key Key, values map[string]any) (changed bool, err error) {
	wanted := storesIn(values)
	if len(wanted) == 0 {
		return false, nil
	}
	secret, records, err := m.stores(ctx, key)
	if err != nil {
		return false, err
	}
	changed, err = m.recordStores(ctx, c, key, secret, records, values)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if err != nil {
			return changed, err
		}
		store := records[name]
		var keys, container bool
		if keys, err = openstack.EnsureEC2Pair(ctx, c.Clients, store.UserID, store.ProjectID, store.EC2Pair); err == nil {
			container, err = store.container(m, c, key).Ensure(ctx)
		}
		changed = changed || keys || container
	}
	return changed, err
}

// recordStores writes the Secret, with keys for stores that are new, and completes records.
func (m *Management) recordStores(ctx context.Context, c Cloud, key Key, secret *corev1.Secret, records map[string]objectStore, values map[string]any) (bool, error) {
	data := map[string][]byte{}
	if secret != nil {
		maps.Copy(data, secret.Data)
	}
	for name, settled := range storesIn(values) {
		store, _ := settled.(map[string]any)
		record, known := records[name]
		if !known {
			record = objectStore{Bucket: bucketOf(store), EC2Pair: openstack.NewEC2Pair(), UserID: c.UserID, ProjectID: c.Login.ProjectID}
			records[name] = record
		}
		text, err := json.Marshal(record)
		if err != nil {
			return false, fmt.Errorf("writing object store %s: %w", name, err)
		}
		if data[name+manifestSuffix], err = c.storeSecret(name, record, store); err != nil {
			return false, err
		}
		data[name+recordSuffix] = text
	}
	of, _ := values["addons"].(map[string]any)
	if _, wanted := harborOf(of); wanted && data[keyHarbor] == nil {
		var err error
		if data[keyHarbor], err = harborPasswords(); err != nil {
			return false, err
		}
	}
	return m.writeStores(ctx, key, secret, data)
}

func (m *Management) writeStores(ctx context.Context, key Key, secret *corev1.Secret, data map[string][]byte) (changed bool, err error) {
	secrets := m.Kube.Typed.CoreV1().Secrets(key.Namespace)
	switch {
	case secret == nil:
		labels := map[string]string{labelStores: key.Name, clusterapi.Label: key.Name, labelMove: "true", "app.kubernetes.io/managed-by": kube.FieldManager,
			addons.WatchLabel: ""} // the addon provider would put it there, perhaps while this is written
		_, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: StoresSecretName(key.Name), Labels: labels}, Data: data}, metav1.CreateOptions{})
	case reflect.DeepEqual(secret.Data, data):
		return false, nil
	default:
		secret.Data = data
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return false, outrun(object(key))
	}
	if err != nil {
		return false, fmt.Errorf("writing the object stores' Secret: %w", err)
	}
	return true, nil
}

// storeSecret is the Secret on the cluster by which programs reach an object store, with the names
// that AWS's libraries read, and those of the registry of Harbor.
func (c Cloud) storeSecret(name string, record objectStore, store map[string]any) ([]byte, error) {
	text := func(key string) string {
		value, _ := store[key].(string)
		return value
	}
	secret := corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: cmp.Or(text("secretName"), "object-store-"+name)}, Data: map[string][]byte{
			"AWS_ACCESS_KEY_ID": []byte(record.Access), "AWS_SECRET_ACCESS_KEY": []byte(record.Secret),
			"AWS_REGION": []byte(text("region")), "AWS_ENDPOINT_URL_S3": []byte(text("endpoint")), "BUCKET_NAME": []byte(record.Bucket),
			"REGISTRY_STORAGE_S3_ACCESSKEY": []byte(record.Access), "REGISTRY_STORAGE_S3_SECRETKEY": []byte(record.Secret),
		}}
	if c.Login.Authority != "" {
		secret.Data["ca.crt"] = []byte(c.Login.Authority)
	}
	manifest, err := yaml.Marshal(secret)
	if err != nil {
		return nil, fmt.Errorf("writing the Secret of object store %s: %w", name, err)
	}
	return manifest, nil
}

// harborPasswords are values for Harbor's chart in the place of passwords that everybody knows.
func harborPasswords() ([]byte, error) {
	registry := rand.Text()
	hash, err := bcrypt.GenerateFromPassword([]byte(registry), bcrypt.DefaultCost)
	if err != nil {
		return nil, fmt.Errorf("hashing Harbor's password: %w", err)
	}
	return yaml.Marshal(map[string]any{
		"harborAdminPassword": rand.Text(),
		"secretKey":           rand.Text()[:16], // AES-128: the chart wants 16 characters
		"database":            map[string]any{"internal": map[string]any{"password": rand.Text()}},
		"registry": map[string]any{"credentials": map[string]any{"username": "harbor_registry_user", "password": registry,
			"htpasswdString": "harbor_registry_user:" + string(hash)}},
	})
}

// removeStores deletes the object stores that are not to stay, with their objects if content says
// so, and their records. It reports what stays.
func (m *Management) removeStores(ctx context.Context, c Cloud, key Key, stay map[string]any, content bool, progress func(string)) (notes []string, err error) {
	secret, records, err := m.stores(ctx, key)
	if err != nil || secret == nil {
		return nil, err
	}
	data := maps.Clone(secret.Data)
	for _, name := range slices.Sorted(maps.Keys(records)) {
		if _, stays := stay[name]; stays {
			continue
		}
		progress("deleting object store " + name)
		store := records[name]
		if err := openstack.RevokeEC2Pair(ctx, c.Clients, store.UserID, store.EC2Pair); errors.Is(err, openstack.ErrOtherUser) {
			notes = append(notes, fmt.Sprintf("EC2 credential %s stays: only user %s, who created it, or an administrator can delete it", store.Access, store.UserID))
		} else if err != nil {
			return notes, err
		}
		left, err := store.container(m, c, key).Remove(ctx, content, progress)
		if err != nil {
			return notes, err
		}
		if left > 0 {
			notes = append(notes, fmt.Sprintf("container %s stays: it has objects (%d)", store.Bucket, left))
		}
		delete(data, name+recordSuffix)
		delete(data, name+manifestSuffix)
	}
	if len(stay) > 0 {
		_, err = m.writeStores(ctx, key, secret, data)
		return notes, err
	}
	err = m.Kube.Typed.CoreV1().Secrets(key.Namespace).Delete(ctx, secret.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return notes, fmt.Errorf("deleting the object stores' Secret: %w", err)
	}
	return notes, nil
}
