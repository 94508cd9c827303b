package localseed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Where a node has the mark of its environment, and the note that it is complete.
const (
	ownerPath    = "/kind/slipway-owner"
	finishedPath = "/kind/slipway-finished"
	networkPath  = "/etc/cni/net.d/10-slipway.conflist"
)

// Kind is the Provider that uses kind's library with one runtime.
type Kind struct {
	Runtime Runtime
}

func (k Kind) provider(tell func(string)) *cluster.Provider {
	option := cluster.ProviderWithDocker()
	switch k.Runtime {
	case Podman:
		option = cluster.ProviderWithPodman()
	case Nerdctl, Finch:
		option = cluster.ProviderWithNerdctl(string(k.Runtime))
	}
	return cluster.NewProvider(option, cluster.ProviderWithLogger(teller(tell)))
}

func (k Kind) node(name string) (nodes.Node, error) {
	list, err := k.provider(nil).ListNodes(name)
	if err != nil {
		return nil, fmt.Errorf("listing the nodes of kind cluster %s: %w", name, said(err))
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list[0], nil
}

// Find implements Provider.
func (k Kind) Find(ctx context.Context, name string) (*Cluster, error) {
	node, err := k.node(name)
	if err != nil || node == nil {
		return nil, err
	}
	found := &Cluster{}
	// A node that runs already stays as it is. One that does not start tells nothing.
	if _, err := k.run(ctx, nil, "start", node.String()); err != nil {
		return nil, fault.New("container "+node.String(), fmt.Errorf("it is stopped and does not start: %w", err),
			"see "+string(k.Runtime)+" logs "+node.String()+", or delete the local seed with kind delete cluster --name "+name)
	}
	if text, err := kindexec.Output(node.CommandContext(ctx, "cat", ownerPath)); err == nil {
		found.Owner = strings.TrimSpace(string(text))
	}
	found.Finished = node.CommandContext(ctx, "test", "-e", finishedPath).Run() == nil
	return found, nil
}

// Create implements Provider. kind's library knows no contexts: when ctx ends Create returns,
// and what is half made is found by the next run.
func (k Kind) Create(ctx context.Context, wanted Wanted, tell func(string)) error {
	dir, err := os.MkdirTemp("", "slipway-kind-") // kind would write into ~/.kube/config
	if err != nil {
		return fmt.Errorf("making the local seed: %w", err)
	}
	done := make(chan error, 1)
	go func() {
		defer os.RemoveAll(dir)
		done <- k.provider(tell).Create(wanted.Name, cluster.CreateWithV1Alpha4Config(config(wanted)), cluster.CreateWithNodeImage(wanted.Image),
			cluster.CreateWithKubeconfigPath(filepath.Join(dir, "kubeconfig")), cluster.CreateWithDisplayUsage(false), cluster.CreateWithDisplaySalutation(false))
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err != nil {
		return fault.New("kind cluster "+wanted.Name, said(err), "see slipway preflight for what the local seed needs on this machine; then run the same command again")
	}
	node, err := k.node(wanted.Name)
	if err != nil || node == nil {
		return errors.Join(err, fmt.Errorf("kind cluster %s has no node", wanted.Name))
	}
	return nodeutils.WriteFile(node, networkPath, podNetwork(wanted.PodCIDR))
}

// config is kind's configuration of a cluster.
func config(wanted Wanted) *v1alpha4.Cluster {
	return &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{APIVersion: "kind.x-k8s.io/v1alpha4", Kind: "Cluster"},
		Name:     wanted.Name,
		Nodes: []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole, ExtraMounts: []v1alpha4.Mount{
			{HostPath: wanted.OwnerFile, ContainerPath: ownerPath, Readonly: true, SelinuxRelabel: true}}}},
		Networking: v1alpha4.Networking{DisableDefaultCNI: true, PodSubnet: wanted.PodCIDR, ServiceSubnet: wanted.ServiceCIDR},
	}
}

// podNetwork is the network of pods of the only node: what kind's own controller writes,
// with the translation of addresses that the controller would do. The plugins are in both
// images, the bundle's and kind's.
func podNetwork(cidr string) string {
	return fmt.Sprintf(`{"cniVersion":"0.4.0","name":"slipway","plugins":[
{"type":"ptp","ipMasq":true,"ipam":{"type":"host-local","dataDir":"/run/cni-ipam-state","routes":[{"dst":"0.0.0.0/0"}],"ranges":[[{"subnet":%q}]]}},
{"type":"portmap","capabilities":{"portMappings":true}}]}
`, cidr)
}

// Finish implements Provider.
func (k Kind) Finish(ctx context.Context, name string) error {
	node, err := k.node(name)
	if err != nil || node == nil {
		return errors.Join(err, fmt.Errorf("kind cluster %s has no node", name))
	}
	return said(node.CommandContext(ctx, "touch", finishedPath).Run())
}

// Kubeconfig implements Provider.
func (k Kind) Kubeconfig(_ context.Context, name string) (string, error) {
	text, err := k.provider(nil).KubeConfig(name, false)
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig of kind cluster %s: %w", name, said(err))
	}
	return text, nil
}

// HasImage implements Provider.
func (k Kind) HasImage(ctx context.Context, ref string) (bool, error) {
	_, err := k.run(ctx, nil, "image", "inspect", ref)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, err
}

// LoadImage implements Provider.
func (k Kind) LoadImage(ctx context.Context, archive io.Reader) error {
	if _, err := k.run(ctx, archive, "load"); err != nil {
		return fmt.Errorf("loading the node image into %s: %w", k.Runtime, err)
	}
	return nil
}

// Import implements Provider.
func (k Kind) Import(ctx context.Context, name string, archive io.Reader) error {
	node, err := k.node(name)
	if err != nil || node == nil {
		return errors.Join(err, fmt.Errorf("kind cluster %s has no node", name))
	}
	var output bytes.Buffer
	err = node.CommandContext(ctx, "ctr", "--namespace=k8s.io", "images", "import", "--local", "--no-unpack", "-").SetStdin(archive).SetStderr(&output).Run()
	if err != nil {
		return fmt.Errorf("importing images on kind cluster %s: %w: %s", name, err, last(output.String()))
	}
	return nil
}

// Delete implements Provider.
func (k Kind) Delete(_ context.Context, name string) error {
	dir, err := os.MkdirTemp("", "slipway-kind-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := k.provider(nil).Delete(name, filepath.Join(dir, "kubeconfig")); err != nil {
		return fault.New("kind cluster "+name, fmt.Errorf("deleting it: %w", said(err)), "delete it with kind delete cluster --name "+name)
	}
	return nil
}

// run runs the runtime's program.
func (k Kind) run(ctx context.Context, in io.Reader, args ...string) (string, error) {
	return runProgram(ctx, in, string(k.Runtime), args...)
}

// said adds to an error of kind's library the last line of what the program said.
func said(err error) error {
	if err == nil {
		return nil
	}
	if failed := kindexec.RunErrorForError(err); failed != nil {
		if line := last(string(failed.Output)); line != "" {
			return fmt.Errorf("%w: %s", err, line)
		}
	}
	return err
}

// last is the last line of a text.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
