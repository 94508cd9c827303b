package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// clusterKinds are what makes clusters, the outer first: the Magnum API's clusters delete
// those of Cluster API below them.
func clusterKinds() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "magnum.slipway.sh", Version: "v1alpha1", Resource: "clusters"},
		{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"},
	}
}

func newUnstack(streams ui.Streams) *cobra.Command {
	limit := 15 * time.Minute
	cmd := step("unstack", "Delete the clusters and revoke the credential",
		`Deletes all clusters of the management cluster while OpenStack still runs, and waits until
they are gone. What is left after --timeout is listed, with exit code 5. Then the VIM of the
management cluster and the packages are taken out of Tacker, if one answers, and its token and
the application credential are revoked. When no clusters are left, the cluster of mode kind is
deleted. In other modes the namespaces of projects go from the management cluster, with their
templates, and in mode external what else the plugin brought to it.`, "  slipway devstack unstack --timeout 20m",
		func(ctx context.Context, s devstack.Settings) error {
			if err := errors.Join(unstack(ctx, streams, s, limit), leaveTacker(ctx, streams, s), forget(ctx, s)); err != nil {
				return err
			}
			return takeBack(ctx, s, environment.LocalSeeds)
		})
	cmd.Flags().DurationVar(&limit, "timeout", limit, "how long to wait for clusters to be deleted")
	return cmd
}

// takeBack takes from the management cluster what is left there, or deletes it. k3s keeps its data
// until clean.sh, but the next stack.sh makes projects anew: public templates of the former ones
// would have the names of the new ones, and a name that two have is refused.
func takeBack(ctx context.Context, s devstack.Settings, open runtimes) error {
	if s.Mode == devstack.Kind {
		return removeKind(ctx, s.Dir, open)
	}
	return withdraw(ctx, s)
}

func unstack(ctx context.Context, streams ui.Streams, s devstack.Settings, limit time.Duration) error {
	if _, err := os.Stat(s.Kubeconfig); errors.Is(err, os.ErrNotExist) {
		return nil // stack.sh never came so far
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return fault.Usage("kubeconfig "+s.Kubeconfig, err, "")
	}
	config.Timeout = 30 * time.Second
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a Kubernetes client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return deleteClusters(ctx, streams, client, limit, time.Second)
}

// deleteClusters deletes all clusters and looks every pause until none is left.
func deleteClusters(ctx context.Context, streams ui.Streams, client dynamic.Interface, limit, pause time.Duration) error {
	told := ""
	for first := true; ; first = false {
		left, err := remaining(ctx, client, true)
		if len(left) == 0 && err == nil {
			return nil
		}
		if text := strings.Join(left, ", "); text != told && text != "" {
			fmt.Fprintf(streams.Err, "deleting %s\n", text)
			told = text
		}
		if first && err != nil && len(left) == 0 {
			return fault.New("clusters", err, "if the management cluster is gone, look for leftovers with `openstack server list --all-projects`")
		}
		select {
		case <-ctx.Done():
			return fault.New("clusters", fmt.Errorf("%w; still there: %s", fault.Deadline{After: limit}, told), "give SLIPWAY_UNSTACK_TIMEOUT more time, or delete their servers, load balancers and networks by hand")
		case <-time.After(pause):
		}
	}
}

// remaining lists what is left, and asks for the deletion of what is not being deleted.
func remaining(ctx context.Context, client dynamic.Interface, remove bool) (left []string, err error) {
	for _, kind := range clusterKinds() {
		list, err := client.Resource(kind).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // the kind is not there
		}
		if err != nil {
			return left, fmt.Errorf("listing clusters: %w", err)
		}
		for _, object := range list.Items {
			left = append(left, fmt.Sprintf("%s %s/%s", kind.Group, object.GetNamespace(), object.GetName()))
			if !remove || object.GetDeletionTimestamp() != nil {
				continue
			}
			foreground := metav1.DeletePropagationForeground
			err := client.Resource(kind).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground})
			if err != nil && !apierrors.IsNotFound(err) {
				return left, fmt.Errorf("deleting cluster %s: %w", object.GetName(), err)
			}
		}
		if len(left) > 0 {
			break // inner clusters go with the outer ones
		}
	}
	slices.Sort(left)
	return left, nil
}

// forget revokes the application credential, if devstack's Keystone still answers.
func forget(ctx context.Context, s devstack.Settings) error {
	if _, err := os.Stat(s.CredentialFile()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return asMember(ctx, func(identity *gophercloud.ServiceClient, userID string) error {
		return s.RevokeCredential(ctx, identity, userID)
	})
}
