package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// through leads to the API through the seed until ctx ends, which is how the command is
// stopped. The file goes with it.
func (o options) through(ctx context.Context, streams ui.Streams, text string) error {
	seed, loaded, err := target.OpenSeed(ctx, o.from)
	if err != nil {
		return err
	}
	if seed.Local != "" {
		return fault.Usage("--tunnel", errors.New("this environment has no seed to go through"), "leave --tunnel out: the API is reached directly")
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return err
	}
	defer machine.Close()
	return tunnel(ctx, streams, machine, text, o.file(loaded.SecretsDir()))
}

// file is where the kubeconfig is written.
func (o options) file(folder string) string {
	if o.output != "" {
		return o.output
	}
	return filepath.Join(folder, "tunnel.kubeconfig")
}

func tunnel(ctx context.Context, streams ui.Streams, way kubernetes.Way, text, path string) error {
	text, err := kubernetes.Tunnel(ctx, way, text)
	if err != nil {
		return err
	}
	if err := answers(ctx, text); err != nil {
		return fault.New("tunnel through the seed", err, "see with slipway status whether the management cluster runs, and whether the seed reaches its API")
	}
	if err := target.WriteSecret(path, text); err != nil {
		return fault.New(path, err, "choose another file with --output")
	}
	defer os.Remove(path)
	fmt.Fprintf(streams.Out, "export KUBECONFIG=%s\n", path)
	fmt.Fprintln(streams.Err, "the tunnel is open; Ctrl-C closes it")
	<-ctx.Done()
	return nil
}

// answers tries the tunnel before anybody is told of it.
func answers(ctx context.Context, text string) error {
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
	if err != nil {
		return errors.New("the kubeconfig cannot be read")
	}
	cluster, err := kube.New(config)
	if err != nil {
		return err
	}
	_, err = cluster.Typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}
