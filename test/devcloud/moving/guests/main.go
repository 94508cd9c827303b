// Command guests stands in for what would boot on the servers of clusters that Cluster API
// makes: guests --kubeconfig FILE. Nova's fake driver boots nothing. For each
// machine whose server is there, this program has a Node, and for each of a control plane etcd
// and an API server, which answers at the cluster's address. It also says of addons that they
// are deployed. So Cluster API's own controllers find clusters that work.
//
// It runs in the network of the cloud, which has the clusters' addresses, until it is killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/manager"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pause is between two looks at the management cluster.
const pause = time.Second

func main() {
	// Libraries have a flag of this name in the set of all.
	flags := flag.NewFlagSet("guests", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "file that leads to the management cluster")
	_ = flags.Parse(os.Args[1:]) // it exits
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "guests:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	ctrl.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	err = errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), rbacv1.AddToScheme(scheme), storagev1.AddToScheme(scheme))
	if err != nil {
		return err
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("reaching the management cluster: %w", err)
	}
	h := &house{kube: kube, memory: manager.New(scheme), clusters: map[client.ObjectKey]*cluster{}}
	if err := h.memory.Start(ctx); err != nil {
		return err
	}
	for {
		if err := h.look(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
