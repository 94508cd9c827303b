package support

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/redact"
	"github.com/slipway-sh/slipway/internal/support"
	"github.com/slipway-sh/slipway/internal/support/gather"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// tenant is a workload cluster that somebody chose: NAME or NAMESPACE/NAME.
type tenant struct {
	c      collector
	wanted string
}

// find reads the cluster's objects on the management cluster.
func (t tenant) find(ctx context.Context) (on *kube.Cluster, all clusterapi.Clusters, namespace, name string, err error) {
	on, err = t.c.w.Management()
	if err == nil && on == nil {
		err = errNone
	}
	if err != nil {
		return nil, clusterapi.Clusters{}, "", "", err
	}
	namespace, name, found := strings.Cut(t.wanted, "/")
	if !found {
		namespace, name = metav1.NamespaceAll, t.wanted
	}
	if all, err = clusterapi.ReadAll(ctx, on.Dynamic, namespace); err != nil {
		return nil, clusterapi.Clusters{}, "", "", err
	}
	var in []string
	for _, r := range all.Outline() {
		if r.Name == name {
			in = append(in, r.Namespace)
		}
	}
	switch len(in) {
	case 1:
		return on, all, in[0], name, nil
	case 0:
		return nil, clusterapi.Clusters{}, "", "", errors.New("there is no such cluster; list them with slipway cluster list")
	}
	return nil, clusterapi.Clusters{}, "", "", fmt.Errorf("there are clusters of this name in %s; give NAMESPACE/NAME", strings.Join(in, " and "))
}

// cloud is the cluster's project, asked with the cluster's credential.
func (t tenant) cloud(ctx context.Context, folder *support.Folder) error {
	on, all, namespace, name, err := t.find(ctx)
	if err != nil {
		return err
	}
	login, ok := all.Login(ctx, on.Dynamic, namespace, name)
	if !ok {
		return errors.New("the cluster's credential cannot be read")
	}
	t.c.known.Add(redact.ValuesIn("clouds.yaml", string(login.CloudsYAML))...)
	login.UserAgent = environment.UserAgent()
	opened, err := cloud.Open(ctx, login)
	if err != nil {
		return err
	}
	defer opened.Close()
	t.c.known.Add(opened.Provider.Token())
	return gather.Cloud(opened, func(context.Context) []string {
		return cause.Sick(cause.Snapshot{Objects: all.Scene(namespace, name), Now: time.Now()})
	})(ctx, folder)
}

// kubernetes is the cluster itself, reached as the seed reaches it.
func (t tenant) kubernetes(ctx context.Context) (*kube.Cluster, error) {
	on, _, namespace, name, err := t.find(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := clusterapi.Kubeconfig(ctx, on.Typed, namespace, name)
	if err != nil {
		return nil, err
	}
	t.c.known.Add(redact.ValuesIn("value", kubeconfig)...)
	if machine, err := t.c.w.Machine(); err == nil {
		return kubernetes.Reach(machine, kubeconfig)
	}
	config, err := kubernetes.Config(kubeconfig)
	if err != nil {
		return nil, err
	}
	return kube.New(config)
}

// sick are the servers of machines that are not ready.
func sick(ctx context.Context, on *kube.Cluster) []string {
	all, err := clusterapi.ReadAll(ctx, on.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return nil
	}
	var ids []string
	for _, r := range all.Outline() {
		ids = append(ids, cause.Sick(cause.Snapshot{Objects: all.Scene(r.Namespace, r.Name), Now: time.Now()})...)
	}
	return ids
}
