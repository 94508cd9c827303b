package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// runtimes opens the container runtime of the host.
type runtimes func(context.Context) (localseed.Provider, error)

// ownerFile is where package localseed keeps the mark of the cluster, in the plugin's folder.
const ownerFile = "local-seed-owner"

func newCluster(streams ui.Streams) *cobra.Command {
	return longStep(streams, "cluster", "Make the management cluster of mode kind",
		`Makes a cluster of one node in a container of Docker, with kind's library and the
bundle's node image, and gives it the images of the bundle. Writes its kubeconfig, and
opens the host to it. A cluster that is there is kept. In other modes nothing is done.`, "  SLIPWAY_MODE=kind slipway devstack cluster",
		func(ctx context.Context, s devstack.Settings, progress event.Sink) error {
			if s.Mode != devstack.Kind {
				return nil
			}
			node, err := bring(ctx, s, environment.LocalSeeds, progress)
			if err != nil {
				return err
			}
			return s.OpenTo(ctx, asRoot, node)
		})
}

// kindSeed is the cluster as package localseed sees it.
func kindSeed(s devstack.Settings, provider localseed.Provider, folder *bundle.Folder, tell func(string)) (localseed.Seed, error) {
	seed := localseed.Seed{Provider: provider, Dir: s.Dir, Tell: tell,
		Settings: localseed.Settings{Name: devstack.KindCluster, Owner: localseed.Owner("devstack", s.AuthURL, s.Dir), PodCIDR: s.Pods.String(), ServiceCIDR: s.Services.String()}}
	item := folder.Bill().Item(component.KindNode)
	if item == nil {
		return seed, fmt.Errorf("bundle %s lacks %s", s.Bundle, component.KindNode)
	}
	seed.Image = item.Ref
	seed.NodeImage = func() (io.ReadCloser, error) { return images(context.Background(), folder, *item), nil }
	return seed, nil
}

// images is an archive that is written while it is read.
func images(ctx context.Context, folder *bundle.Folder, items ...bundle.Item) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(folder.WriteImageArchive(ctx, w, items)) }()
	return r
}

// bring makes the cluster, or finds it, and returns the address of its node.
func bring(ctx context.Context, s devstack.Settings, open runtimes, sink event.Sink) (node string, err error) {
	work := event.Start(sink, "kind", "looking for the cluster")
	defer func() { work.End("", err) }()
	provider, err := open(ctx)
	if err != nil {
		return "", err
	}
	folder, err := bundle.Open(s.Bundle)
	if err != nil {
		return "", err
	}
	seed, err := kindSeed(s, provider, folder, work.Wait)
	if err != nil {
		return "", err
	}
	kubeconfig, err := seed.Bring(ctx)
	if err != nil {
		return "", err
	}
	var items []bundle.Item
	for _, name := range s.Items() {
		if item := folder.Bill().Item(name); item != nil && item.Kind == bundle.Image && name != component.KindNode {
			items = append(items, *item)
		}
	}
	work.Run("importing images")
	archive := images(ctx, folder, items...)
	defer archive.Close()
	if err := provider.Import(ctx, seed.Name, archive); err != nil {
		return "", err
	}
	if err := s.Write("kubeconfig", kubeconfig); err != nil {
		return "", err
	}
	return nodeAddress(ctx, s)
}

// nodeAddress is where what pods send comes from: their own addresses are translated.
func nodeAddress(ctx context.Context, s devstack.Settings) (string, error) {
	on, err := reach(ctx, s)
	if err != nil {
		return "", err
	}
	nodes, err := on.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing the nodes of the management cluster: %w", err)
	}
	for _, node := range nodes.Items {
		for _, a := range node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address, nil
			}
		}
	}
	return "", errors.New("the management cluster has no node with an address")
}

// removeKind deletes the cluster of mode kind whose mark is in the plugin's folder; without a
// mark there is none.
func removeKind(ctx context.Context, dir string, open runtimes) error {
	owner, err := os.ReadFile(filepath.Join(dir, ownerFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the mark of the kind cluster: %w", err)
	}
	provider, err := open(ctx)
	if err != nil {
		return err
	}
	seed := localseed.Seed{Provider: provider, Dir: dir, Tell: func(string) {},
		Settings: localseed.Settings{Name: devstack.KindCluster, Owner: strings.TrimSpace(string(owner))}}
	if err := seed.Remove(ctx); err != nil {
		return err
	}
	return errors.Join(removed(filepath.Join(dir, ownerFile)), removed(filepath.Join(dir, "kubeconfig")))
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	return nil
}
