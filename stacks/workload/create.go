package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
)

// Level is what to wait for.
type Level string

// The levels: nothing, the control plane, or everything including nodes and addons.
const (
	WaitNone         Level = "none"
	WaitControlPlane Level = "control-plane"
	WaitReady        Level = "ready"
)

// Wanted is the desired state of a cluster.
type Wanted struct {
	// Name of the cluster, and Namespace; if empty, the cluster gets a namespace of its
	// own with its name.
	Name, Namespace string
	// Values are the user's values, which override Defaults, the environment's.
	Values, Defaults map[string]any
	// Project is the ID or the name of the project in which the cluster is; empty means that of
	// an existing cluster, else the environment's. With CreateProject it is made, under that
	// name or, if it is empty, one of the environment and the cluster.
	Project       string
	CreateProject bool
	// Preview allows versions of Kubernetes before their release.
	Preview bool
	Wait    Level
}

// Change is what was done to a cluster.
type Change string

// The changes.
const (
	Created   Change = "created"
	Changed   Change = "changed"
	Unchanged Change = "no changes"
)

// Create creates a cluster, or updates the existing one, and waits as wanted. progress
// receives what is done and waited for. Nothing is created until everything is checked.
func (m *Management) Create(ctx context.Context, c Cloud, w Wanted, progress func(string)) (Key, Change, error) {
	key := Key{Namespace: w.Namespace, Name: w.Name}
	if w.Namespace == "" {
		key.Namespace = w.Name
	}
	change, renewed, err := m.create(ctx, c, w, key, progress)
	if err != nil {
		return key, change, err
	}
	tell := func(r clusterapi.Report) { progress(r.Progress()) }
	if renewed && w.Wait != WaitNone { // before workers are waited for: they need it to become nodes
		if _, err := clusterapi.AwaitControlPlane(ctx, m.Kube.Dynamic, key.Namespace, key.Name, tell); err != nil {
			return key, change, err
		}
		if err := m.handOut(ctx, c, key, progress); err != nil {
			return key, change, err
		}
	}
	switch w.Wait {
	case WaitControlPlane:
		_, err = clusterapi.AwaitControlPlane(ctx, m.Kube.Dynamic, key.Namespace, key.Name, tell)
	case WaitReady:
		_, err = clusterapi.Await(ctx, m.Kube.Dynamic, key.Namespace, key.Name, clusterapi.Report.Ready, tell)
	}
	return key, change, err
}

// create does everything but wait. renewed reports that a cluster that was there already has
// another credential, which it has yet to be given.
func (m *Management) create(ctx context.Context, c Cloud, w Wanted, key Key, progress func(string)) (change Change, renewed bool, err error) {
	if err := CheckName(key.Name); err != nil {
		return "", false, err
	}
	there, err := m.look(ctx, key)
	if err != nil {
		return "", false, err
	}
	if there.adopted() { // the values that were adopted say what its machines are
		w.Defaults = there.release.Config
	}
	if err := w.resolveVersion(func() ([]NodeImage, error) { return m.fittingImages(ctx, c) }); err != nil {
		return "", false, err
	}
	values, own, err := w.values(key)
	if err != nil {
		return "", false, err
	}
	if err := m.mayCreate(ctx, w, key, there, values); err != nil {
		return "", false, err
	}
	if err := m.checkArchitecture(ctx, c, values); err != nil {
		return "", false, err
	}
	if c, err = m.settle(ctx, c, w, key, there, values, own); err != nil {
		return "", false, err
	}
	if err := m.settleStores(c, key, values, own); err != nil {
		return "", false, err
	}
	if there.surplusStores, err = m.checkStores(ctx, c, key, values); err != nil {
		return "", false, err
	}
	changed, renewed, err := m.make(ctx, c, key, there, values, own, progress)
	if err != nil {
		return "", false, err
	}
	switch {
	case there.release == nil:
		return Created, renewed, nil
	case changed:
		return Changed, renewed, nil
	}
	return Unchanged, renewed, nil
}

// make makes what is missing of a cluster, in an order in which the next run finds what a run
// that was killed made.
func (m *Management) make(ctx context.Context, c Cloud, key Key, there known, values map[string]any, own bool, progress func(string)) (changed, renewed bool, err error) {
	for _, step := range []struct {
		word   string
		wanted bool
		do     func() (bool, error)
	}{
		{"creating namespace " + key.Namespace, true, func() (bool, error) { return m.ensureNamespace(ctx, key, there) }},
		{"preparing project " + c.home.String(), c.home.elsewhere(), func() (did bool, err error) {
			c, did, err = m.prepare(ctx, c, key, values)
			return did, err
		}},
		{"creating the application credential", true, func() (did bool, err error) {
			if !own {
				return false, nil
			}
			if there.exists {
				did, renewed, err = m.renewCredential(ctx, c, key, progress)
				return did, err
			}
			return m.ensureCredential(ctx, c, key)
		}},
		{"creating object stores", len(storesIn(values)) > 0, func() (bool, error) { return m.ensureStores(ctx, c, key, values) }},
		{"installing the Helm release", true, func() (bool, error) { return m.ensureRelease(ctx, key, there, values, c.home) }},
		{"deleting object stores", there.surplusStores, func() (bool, error) {
			notes, err := m.removeStores(ctx, c, key, storesIn(values), false, progress)
			for _, note := range notes {
				progress(note)
			}
			return true, err
		}},
	} {
		if !step.wanted {
			continue
		}
		progress(step.word)
		did, err := step.do()
		if err != nil {
			return changed, renewed, fmt.Errorf("%s: %w", step.word, err)
		}
		changed = changed || did
	}
	return changed, renewed, nil
}

// mayCreate refuses clusters and objects of others, and what could not work, before
// anything is created.
func (m *Management) mayCreate(ctx context.Context, w Wanted, key Key, there known, values map[string]any) error {
	switch {
	case m.itself(key):
		return fault.Usage(object(key), errors.New("it is the management cluster itself"), "change spec.managementCluster of the environment file and run slipway up")
	case key.Name == m.Environment: // what workloads create in OpenStack is recognised by this name alone
		return fault.Usage(object(key), errors.New("the management cluster has this name"), "choose another name")
	case there.origin == Magnum:
		return fault.Usage(object(key), errors.New("the Magnum API created it"), "change it with openstack coe cluster, or choose another name")
	case there.origin == Others:
		return fault.Usage(object(key), errors.New("it exists already, but slipway cluster create did not create it"), "choose another name or --namespace, or adopt it with slipway adopt cluster")
	case there.asItIs && there.exists:
		return fault.Usage(object(key), errors.New("it was adopted as it is, without values"), "change it where its objects are declared")
	}
	if err := m.mayUse(ctx, w, key, there); err != nil {
		return err
	}
	if err := m.userSecret(ctx, key, values); err != nil {
		return err
	}
	if !there.exists {
		return nil
	}
	if there.release != nil {
		if err := checkNetworkPlugin(there.release.Config, values); err != nil {
			return err
		}
	}
	if err := m.checkServerGroups(ctx, key, values); err != nil {
		return err
	}
	reports, err := clusterapi.Read(ctx, m.Kube.Dynamic, key.Namespace)
	if err != nil {
		return err
	}
	for _, r := range reports {
		if r.Name != key.Name {
			continue
		}
		if r.State() == clusterapi.StateDeleting {
			return fault.New(object(key), errors.New("it is being deleted"), "finish the deletion with slipway cluster delete "+key.Name+", then run the same command again")
		}
		return checkUpgrade(r, values)
	}
	return nil
}

// userSecret refuses a missing credential of the user.
func (m *Management) userSecret(ctx context.Context, key Key, values map[string]any) error {
	name, _ := values[valueSecretName].(string)
	if name == "" || name == SecretName(key.Name) {
		return nil
	}
	_, err := m.Kube.Typed.CoreV1().Secrets(key.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fault.Usage(valueSecretName, fmt.Errorf("there is no Secret %s/%s", key.Namespace, name),
			"create it with the keys clouds.yaml (cloud openstack) and, if the cloud has a private CA, cacert; or leave out "+valueSecretName+" to give the cluster a credential of its own")
	}
	if err != nil {
		return fmt.Errorf("reading the credential's Secret: %w", err)
	}
	return nil
}

func (m *Management) ensureNamespace(ctx context.Context, key Key, there known) (bool, error) {
	if there.namespace != nil {
		return false, nil
	}
	_, err := m.Kube.Typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace, Labels: labels(key)}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // it was not there a moment ago
		return false, outrun("namespace " + key.Namespace)
	}
	return true, err
}

// labels are the labels of objects that belong to the cluster.
func labels(key Key) map[string]string {
	return map[string]string{LabelCluster: key.Name, "app.kubernetes.io/managed-by": kube.FieldManager}
}

// ensureRelease installs or upgrades the release. It keeps what an interrupted run created,
// which may already be machines.
func (m *Management) ensureRelease(ctx context.Context, key Key, there known, values map[string]any, in home) (bool, error) {
	chart, err := openstackcluster.Chart()
	if err != nil {
		return false, err
	}
	client, err := m.helm(key.Namespace)
	if err != nil {
		return false, err
	}
	wanted := helm.Wanted{Name: key.Name, Chart: chart, Values: maps.Clone(values), Resume: true, Labels: in.labels(key)}
	if there.release != nil && !there.exists { // somebody deleted the Cluster; the release's record would claim that it exists
		if _, err := client.Repair(wanted, there.release); err != nil {
			return false, err
		}
	}
	changed := false
	err = m.Kube.Outlast(ctx, awayTime, kube.Away, nil, func(ctx context.Context) (err error) {
		_, changed, err = client.Ensure(ctx, wanted)
		return err
	})
	return changed, err
}

// awayTime is how long the API, and the webhooks of Cluster API, may be away: an upgrade, or the
// loss of a node, starts their programs elsewhere within two minutes.
const awayTime = 2 * time.Minute
