package devstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// readyTime bounds the wait for the API of the management cluster, and installTime that
// for all controllers.
const (
	readyTime   = 5 * time.Minute
	installTime = 15 * time.Minute
)

// cloudSecret is the Secret with the clouds.yaml of the application credential.
const cloudSecret = "slipway-devstack-cloud"

func newInstall(streams ui.Streams) *cobra.Command {
	return longStep(streams, "install", "Install Cluster API on the management cluster",
		`Installs cert-manager, Cluster API, its providers and ORC from the bundle, with the
definitions of addons, and waits until all controllers are available. On an external
cluster that has Cluster API already, nothing but the definitions is installed.`, "  slipway devstack install",
		func(ctx context.Context, s devstack.Settings, sink event.Sink) error {
			if err := install(ctx, s, sink); err != nil {
				return err
			}
			return forgetFormer(ctx, s)
		})
}

// reach returns the management cluster when its API answers.
func reach(ctx context.Context, s devstack.Settings) (*kube.Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return nil, fault.Usage("kubeconfig "+s.Kubeconfig, err, "give a file that kubectl --kubeconfig accepts")
	}
	on, err := kube.New(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for {
		_, err := on.Typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return on, nil
		}
		select {
		case <-ctx.Done():
			return nil, fault.New("management cluster at "+config.Host, fmt.Errorf("it did not answer in %s: %w", readyTime, err), lookAt(s))
		case <-time.After(time.Second):
		}
	}
}

// lookAt says where the cause is of a management cluster that does not answer.
func lookAt(s devstack.Settings) string {
	switch s.Mode {
	case devstack.K3s:
		return "read journalctl -u devstack@" + devstack.ServiceK3s
	case devstack.Kind:
		return "read the log of the container: docker logs " + devstack.KindCluster + "-control-plane"
	case devstack.External:
		return "start the cluster of SLIPWAY_KUBECONFIG before this plugin: enable the plugin that makes it in an earlier line of local.conf"
	}
	return ""
}

func install(ctx context.Context, s devstack.Settings, sink event.Sink) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, installTime, fmt.Errorf("not all controllers were available after %s", installTime))
	defer cancel()
	work := event.Start(sink, "cluster-api", "waiting for the management cluster")
	defer func() { work.End("", err) }()
	on, err := reach(ctx, s)
	if err != nil {
		return err
	}
	if s.Mode == devstack.External {
		if err := openToExternal(ctx, on, s.HostIP.String(), asRoot); err != nil {
			return err
		}
	}
	present, err := on.Exists("cluster.x-k8s.io", "Cluster")
	if err != nil {
		return err
	}
	folder, err := bundle.Open(s.Bundle)
	if err != nil {
		return err
	}
	authority, err := s.Authorities(time.Now())
	if err != nil {
		return err
	}
	installation := clusterctl.Installation{Bundle: folder, Cluster: on, Kubeconfig: s.Kubeconfig, TrustBundle: authority, Environment: s.ProxyVariables(),
		Progress: work.Wait}
	if s.Mode == devstack.External && present {
		work.Run("the cluster has Cluster API already")
	} else if err := installation.Run(ctx); err != nil {
		return err
	}
	if err := installation.Answering(ctx); err != nil {
		return fault.New("Cluster API", err, "the cluster must serve cluster.x-k8s.io/v1beta2: Cluster API v1.11 or newer")
	}
	// The controllers do not start without the definitions of what they watch.
	definitions, err := controllers.Definitions()
	if err != nil {
		return err
	}
	apply := on.Apply
	if s.Mode == devstack.External {
		apply = func(ctx context.Context, text []byte) error { return define(ctx, on, text) }
	}
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if err := apply(ctx, definitions[name]); err != nil {
			return err
		}
	}
	return storeCredential(ctx, on, s, authority)
}

// storeCredential gives clusters that are created with kubectl a login: CAPO's identityRef
// names the Secret.
func storeCredential(ctx context.Context, on *kube.Cluster, s devstack.Settings, authority string) error {
	text, err := os.ReadFile(s.CredentialFile())
	if errors.Is(err, os.ErrNotExist) {
		return fault.New("application credential", err, "run slipway devstack prepare first")
	}
	if err != nil {
		return fmt.Errorf("reading the application credential: %w", err)
	}
	data := map[string][]byte{"clouds.yaml": text}
	if authority != "" {
		data["cacert"] = []byte(authority)
	}
	secret := applycore.Secret(cloudSecret, corev1.NamespaceDefault).WithData(data)
	_, err = on.Typed.CoreV1().Secrets(corev1.NamespaceDefault).Apply(ctx, secret, metav1.ApplyOptions{FieldManager: kube.FieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("storing the application credential: %w", err)
	}
	return nil
}
