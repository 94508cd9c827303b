package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/check/inside"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
)

// newInside returns what a check runs in its pods.
func newInside() *cobra.Command {
	s := inside.Server{}
	cmd := &cobra.Command{
		Use:    "inside",
		Short:  "Answer the questions of a check, in a pod on the cluster",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.Node, s.Token = os.Getenv("SLIPWAY_CHECK_NODE"), os.Getenv("SLIPWAY_CHECK_TOKEN")
			if s.Token == "" {
				return errors.New("SLIPWAY_CHECK_TOKEN is empty: a check sets it")
			}
			return serve(cmd.Context(), s)
		},
	}
	cmd.Flags().StringVar(&s.Dir, "dir", "", "folder of the volume that is tried")
	cmd.Flags().StringVar(&s.Results, "results", "", "folder of the results of Kubernetes' tests")
	return cmd
}

// serve serves until ctx is over.
func serve(ctx context.Context, s inside.Server) error {
	server := &http.Server{Addr: fmt.Sprintf(":%d", inside.Port), Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// imageOn returns the image of the cluster's own job, which its nodes have and which knows
// their registry; else that of this version.
func imageOn(ctx context.Context, client kubernetes.Interface) string {
	job, err := client.BatchV1().CronJobs(metav1.NamespaceSystem).Get(ctx, "etcd-defrag", metav1.GetOptions{})
	if err == nil {
		for _, c := range job.Spec.JobTemplate.Spec.Template.Spec.Containers {
			if strings.Contains(c.Image, "slipway") {
				return c.Image
			}
		}
	}
	return "ghcr.io/slipway-sh/slipway:" + component.SlipwayVersion()
}

// keystone is the address of the cloud's Keystone, which every cluster must reach; empty if
// clouds.yaml is not on this machine.
func keystone(ctx context.Context, loaded *config.Loaded) string {
	c, err := cloud.Open(ctx, environment.CloudOptions(loaded))
	if err != nil {
		return ""
	}
	defer c.Close()
	return endpoint(c.Provider.IdentityEndpoint)
}
