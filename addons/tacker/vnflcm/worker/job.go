// Package worker performs the operations of VNF instances. Each look at an operation is
// one short step that may be repeated, so that nothing is lost when the process is killed.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
)

// job is an operation that is being looked at.
type job struct {
	o        *Options
	op       *v1alpha1.VNFOperation
	instance *v1alpha1.VNFInstance
	kube     *kube.Cluster
	params   params
}

// params are the members of requests' bodies that matter here.
type params struct {
	Flavour string                   `json:"flavourId"`
	Level   string                   `json:"instantiationLevelId"`
	VNFDID  string                   `json:"vnfdId"`
	VIM     map[string]vimConnection `json:"vimConnectionInfo"`
	Type    string                   `json:"type"`
	Ending  string                   `json:"terminationType"`
	VNFCs   []string                 `json:"vnfcInstanceId"`
	More    struct {
		Files     []string `json:"lcm-kubernetes-def-files"`
		Chart     string   `json:"helm_chart_path"`
		Namespace string   `json:"namespace"`
		Receiver  string   `json:"credential_receiver_url"`
		// Names and Parameters are of a chart.
		Names      map[string]valueName       `json:"helm_value_names"`
		Parameters map[string]json.RawMessage `json:"helm_parameters"`
	} `json:"additionalParams"`
}

// files are those to apply: manifests, or one chart.
func (p params) files() []string {
	if p.More.Chart != "" {
		return []string{p.More.Chart}
	}
	return p.More.Files
}

type vimConnection struct {
	Type      string `json:"vimType"`
	Interface struct {
		Endpoint string `json:"endpoint"`
	} `json:"interfaceInfo"`
}

// refusal is an error with the status that clients see.
type refusal struct {
	status int32
	detail string
}

func (r refusal) Error() string { return r.detail }

func refuse(status int32, format string, args ...any) error {
	return refusal{status, fmt.Sprintf(format, args...)}
}

// action is what an operation does in each state.
type action interface {
	// start checks all that can be checked before anything changes.
	start(ctx context.Context, j *job) error
	// process does a step; what it waits for, "" when all is done.
	process(ctx context.Context, j *job) (waiting string, err error)
	// undo does a step of the rollback.
	undo(ctx context.Context, j *job) (waiting string, err error)
	// finish makes the result that of the instance, done or undone.
	finish(ctx context.Context, j *job, completed bool) error
}

func actionOf(kind v1alpha1.OperationType) action {
	switch kind {
	case v1alpha1.Instantiate:
		return instantiate{}
	case v1alpha1.Scale:
		return scale{}
	case v1alpha1.Terminate:
		return terminate{}
	case v1alpha1.Heal:
		return heal{}
	case v1alpha1.ChangePackage:
		return change{}
	}
	return modify{}
}

// open reads the request and connects to the management cluster as it says.
func (j *job) open(ctx context.Context) error {
	if p := j.op.Spec.Params; p != nil {
		if err := json.Unmarshal(p.Raw, &j.params); err != nil {
			return refuse(http.StatusBadRequest, "the request cannot be read: %v", err)
		}
	}
	token, err := j.token(ctx)
	if err != nil {
		return err
	}
	if token == "" {
		j.kube = j.o.Kube
		return nil
	}
	config := rest.AnonymousClientConfig(j.o.Config)
	config.BearerToken = token
	if j.kube, err = kube.New(config); err != nil {
		return fmt.Errorf("connecting with the token of vimConnectionInfo: %w", err)
	}
	return nil
}

// token is the caller's bearer token for the management cluster; "" is none. SOL003 has
// several connections, Tacker uses the first.
func (j *job) token(ctx context.Context) (string, error) {
	name := j.instance.Status.VIMSecret
	if j.op.Spec.Operation == v1alpha1.Instantiate || j.op.Spec.Secret != "" {
		name = j.op.Spec.Secret
	}
	if name == "" {
		return "", nil
	}
	var secret corev1.Secret
	if err := j.o.Client.Get(ctx, types.NamespacedName{Namespace: j.op.Namespace, Name: name}, &secret); err != nil {
		return "", fmt.Errorf("reading the secrets of vimConnectionInfo: %w", err)
	}
	token := string(secret.Data["bearer_token"])
	if token == "" { // not with the endpoint's rights instead
		return "", refuse(http.StatusUnprocessableEntity, "vimConnectionInfo: accessInfo has secrets and no bearer_token")
	}
	return token, nil
}

// admitted asks the management cluster whether it takes the token of vimConnectionInfo, which may
// have ended since the instantiation. Any other doubt is an error, too: a token is used for as
// long as the instance lives. What it may not do shows with the objects.
func (j *job) admitted(ctx context.Context) error {
	if j.kube == j.o.Kube {
		return nil
	}
	err := j.kube.Typed.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	switch {
	case err == nil, apierrors.IsForbidden(err): // it knows who asks
		return nil
	case apierrors.IsUnauthorized(err):
		return refuse(http.StatusUnauthorized, "vimConnectionInfo: the management cluster refuses the bearer_token, which may have ended: PATCH the instance with another one")
	}
	return fmt.Errorf("trying the bearer_token of vimConnectionInfo: %w", err)
}

// live refuses a token of the instance that has ended, before anything changes. Other errors are
// left to the steps that follow: they wait for what passes.
func (j *job) live(ctx context.Context) error {
	if j.kube == nil || j.op.Spec.Operation == v1alpha1.Instantiate { // it has no other token yet
		return nil
	}
	var refused refusal
	if err := j.admitted(ctx); errors.As(err, &refused) {
		return refused
	}
	return nil
}

// own remembers objects before they are applied, so that they are found again: each one once,
// in the version in which it is applied.
func (j *job) own(ctx context.Context, refs []v1alpha1.ObjectRef) error {
	s, changed := &j.instance.Status, false
	for _, ref := range refs {
		switch i := slices.IndexFunc(s.Objects, ref.Same); {
		case i < 0:
			s.Objects, changed = append(s.Objects, ref), true
		case s.Objects[i] != ref:
			s.Objects[i], changed = ref, true
		}
	}
	if !changed {
		return nil
	}
	if err := j.o.Client.Status().Update(ctx, j.instance); err != nil {
		return fmt.Errorf("remembering objects: %w", err)
	}
	return nil
}

// drop deletes the Secret of a connection that is not used any more.
func (j *job) drop(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = j.op.Namespace, name
	if err := client.IgnoreNotFound(j.o.Client.Delete(ctx, secret)); err != nil {
		return fmt.Errorf("deleting the secrets of vimConnectionInfo: %w", err)
	}
	return nil
}
