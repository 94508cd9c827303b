package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cloudconfig"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

const (
	// cloudConfig is the Secret on a cluster, annotationCredential on the pods that read it.
	cloudConfig          = cloudconfig.Secret
	annotationCredential = cloudconfig.Annotation
	// lookPause is between two looks at a cluster.
	lookPause = 2 * time.Second
)

// distributed is what became of a credential on a cluster.
type distributed struct {
	// restarted are what reads it and was restarted.
	restarted []string
	// had is the Secret that the cluster had before; nil if none.
	had *corev1.Secret
}

// distribute waits until a cluster has a credential, restarts what reads it there, and waits
// until that runs. A cluster that is not up yet gets the credential when it is.
func (m *Management) distribute(ctx context.Context, key Key, there known, id string, progress func(string)) (distributed, error) {
	if m.Way == nil {
		return distributed{}, nil
	}
	config, _, err := m.Way(ctx, key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return distributed{}, nil
	}
	if err != nil {
		return distributed{}, err
	}
	config = rest.CopyConfig(config)
	config.Timeout = 15 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return distributed{}, fmt.Errorf("creating a client: %w", err)
	}
	in := inside{client: client, namespace: cloudNamespace(there), id: id, management: m, key: key}
	has, had, err := in.awaitConfig(ctx, progress)
	if err != nil || !has {
		return distributed{}, err
	}
	restarted, err := in.awaitRestart(ctx, progress)
	return distributed{restarted, had}, err
}

// insideID is the ID of the credential that the cluster itself uses.
func insideID(secret *corev1.Secret) string {
	return cmp.Or(idIn(secret.Data[keyCloudProvider]), idIn(secret.Data[keyClouds]))
}

// cloudNamespace is the namespace on the cluster of what talks to OpenStack.
func cloudNamespace(there known) string {
	if there.release != nil {
		if name, found, _ := unstructured.NestedString(there.release.Config, "addons", "openstack", "targetNamespace"); found && name != "" {
			return name
		}
	}
	return cloudconfig.Namespace
}

// inside is a cluster that gets a credential.
type inside struct {
	client     kubernetes.Interface
	namespace  string
	id         string
	management *Management
	key        Key
}

// until waits. What may pass, such as an API server that does not answer, ends no wait.
func (in inside) until(ctx context.Context, what string, progress func(string), done func(context.Context) (bool, string, error)) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, lookPause, true, func(ctx context.Context) (bool, error) {
		ok, missing, err := done(ctx)
		var known *fault.Fault
		if errors.As(err, &known) {
			return false, err
		}
		if last = err; err != nil {
			missing = err.Error()
		}
		if !ok || err != nil {
			progress(what + ": " + missing)
		}
		return ok && err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, errors.Join(orCause(ctx, err), last))
	}
	return nil
}

// awaitConfig waits until the addon provider has written the credential onto the cluster. has
// is false for a cluster that is not to have it; had is what was there before.
func (in inside) awaitConfig(ctx context.Context, progress func(string)) (has bool, had *corev1.Secret, err error) {
	err = in.until(ctx, "waiting for Secret "+in.namespace+"/"+cloudConfig+" on the cluster", progress, func(ctx context.Context) (bool, string, error) {
		secret, err := in.client.CoreV1().Secrets(in.namespace).Get(ctx, cloudConfig, metav1.GetOptions{})
		if apierrors.IsNotFound(err) { // it may be lost there too
			addon, err := in.addon(ctx)
			if err != nil || addon == nil {
				return true, "", err
			}
			return false, "it is not there", failedAddon(addon)
		}
		if err != nil {
			return false, "", err
		}
		if had == nil {
			had = secret
		}
		if has = idIn(secret.Data[keyClouds]) == in.id; has {
			return true, "", nil
		}
		addon, err := in.addon(ctx)
		if err != nil || addon == nil {
			return false, "it has the former credential", err
		}
		return false, "it has the former credential", failedAddon(addon)
	})
	return has, had, err
}

// addon is the one that writes the Secret onto the cluster; nil if there is none.
func (in inside) addon(ctx context.Context) (*unstructured.Unstructured, error) {
	kind := schema.GroupVersionResource{Group: "addons.stackhpc.com", Version: "v1alpha1", Resource: "manifests"}
	list, err := in.management.Kube.Dynamic.Resource(kind).Namespace(in.key.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labelStack + "=" + in.key.Name})
	if kube.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading addons: %w", err)
	}
	for i := range list.Items {
		if name, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "releaseName"); name == cloudConfig {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// failedAddon is the error of an addon that cannot be written onto the cluster until somebody
// changes something.
func failedAddon(addon *unstructured.Unstructured) error {
	if phase, _, _ := unstructured.NestedString(addon.Object, "status", "phase"); phase != "Failed" {
		return nil
	}
	why, _, _ := unstructured.NestedString(addon.Object, "status", "failureMessage")
	return fault.New("Manifests "+addon.GetNamespace()+"/"+addon.GetName(), errors.New(why), "correct what it names, then run the same command again")
}

// awaitRestart restarts the pods that read the credential, and waits until none of before runs.
func (in inside) awaitRestart(ctx context.Context, progress func(string)) (restarted []string, err error) {
	err = in.until(ctx, "restarting what reads the credential", progress, func(ctx context.Context) (bool, string, error) {
		var missing string
		var err error
		restarted, missing, err = cloudconfig.Restart(ctx, in.client, in.namespace, in.id)
		return missing == "", missing + " is not up again", err
	})
	return restarted, err
}
