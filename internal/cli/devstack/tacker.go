package devstack

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/onboard"
	"github.com/slipway-sh/slipway/addons/tacker/receiver"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// vimName is the name of the management cluster in Tacker.
const vimName = "slipway-devstack"

// tackerTokenFile holds the token that Tacker has, in the plugin's folder.
const tackerTokenFile = "tacker-token"

// onboardTime bounds how long Tacker may take to read both packages.
const onboardTime = 10 * time.Minute

// tackerAccount is whom Tacker is on the management cluster. devstack's hosts do not live
// longer than the token; a second stack.sh renews it in time.
func tackerAccount() kube.Account {
	return kube.Account{Namespace: metav1.NamespaceSystem, Name: "slipway-tacker", ClusterRole: "cluster-admin", Lifetime: 365 * 24 * time.Hour}
}

func newTacker(streams ui.Streams) *cobra.Command {
	return longStep(streams, "tacker", "Register the management cluster in Tacker, and upload packages",
		`Registers the management cluster as the VIM `+vimName+` of the user demo, with a token and
the authority of its certificate, and uploads two packages: the clusters of devstack's
template, and Cluster API itself. What is there already is not uploaded again. Tacker's
checkout has ETSI's definitions; they are looked for below SLIPWAY_TACKER_TYPES. Without
SLIPWAY_TACKER=True nothing is done.`, "  SLIPWAY_TACKER=True slipway devstack tacker",
		func(ctx context.Context, s devstack.Settings, progress event.Sink) error {
			if !s.Tacker {
				return nil
			}
			return joinTacker(ctx, s, progress)
		})
}

func joinTacker(ctx context.Context, s devstack.Settings, sink event.Sink) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, onboardTime, fmt.Errorf("Tacker took longer than %s", onboardTime))
	defer cancel()
	work := event.Start(sink, "tacker", "making packages")
	defer func() { work.End("", err) }()
	packages, err := tackerPackages(ctx, s)
	if err != nil {
		return err
	}
	c, err := open(ctx, member)
	if err != nil {
		return err
	}
	defer c.Close()
	tacker, err := receiver.NewTacker(c.Provider, c.Endpoint, true)
	if err != nil {
		return fault.New("Tacker", err, "enable the plugin tacker in an earlier line of local.conf")
	}
	work.Run("registering the management cluster")
	vim, err := managementVIM(ctx, s)
	if err != nil {
		return err
	}
	if err := tacker.Register(ctx, vim); err != nil {
		return err
	}
	store := onboard.Store{Client: tacker.Client, Pause: time.Second}
	// What is noted is taken back, also what the next lines do not finish.
	if err := noteTacker(s, packages); err != nil {
		return err
	}
	for _, p := range packages {
		work.Run("uploading package " + p.Name)
		content, err := p.Zip()
		if err != nil {
			return err
		}
		if _, err := store.Ensure(ctx, p.ID, content); err != nil {
			return err
		}
	}
	return nil
}

// managementVIM is the management cluster as Tacker gets it. Tacker takes no client
// certificate, so it gets a token of an account of its own.
func managementVIM(ctx context.Context, s devstack.Settings) (receiver.VIM, error) {
	on, err := reach(ctx, s)
	if err != nil {
		return receiver.VIM{}, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return receiver.VIM{}, fault.Usage("kubeconfig "+s.Kubeconfig, err, "give a file that kubectl --kubeconfig accepts")
	}
	authority, err := authorityOf(config)
	if err != nil {
		return receiver.VIM{}, err
	}
	old, err := os.ReadFile(filepath.Join(s.Dir, tackerTokenFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return receiver.VIM{}, fmt.Errorf("reading Tacker's token: %w", err)
	}
	token, err := on.Token(ctx, tackerAccount(), string(old))
	if err != nil {
		return receiver.VIM{}, err
	}
	if err := s.Write(tackerTokenFile, token); err != nil {
		return receiver.VIM{}, err
	}
	return receiver.VIM{Name: vimName, Description: "Cluster API of Slipway's devstack plugin", Endpoint: config.Host, BearerToken: token, Authority: authority}, nil
}

// authorityOf is the authority of the API's certificate, without which Tacker's Helm refuses a VIM.
func authorityOf(config *rest.Config) (string, error) {
	text := config.CAData
	if len(text) == 0 && config.CAFile != "" {
		var err error
		if text, err = os.ReadFile(config.CAFile); err != nil {
			return "", fmt.Errorf("reading the authority of the management cluster: %w", err)
		}
	}
	if block, _ := pem.Decode(text); block == nil {
		return "", fault.Usage("kubeconfig", errors.New("it has no certificate-authority-data"), "give a kubeconfig with the authority of the API's certificate, which Tacker needs")
	}
	return string(text), nil
}

// tackerPackages are the package of clusters like those of the template, and that of Cluster
// API. Neither holds a secret: the first names the Secret of the plugin.
func tackerPackages(ctx context.Context, s devstack.Settings) ([]*csar.Package, error) {
	folder, err := definitions(s.TackerTypes)
	if err != nil {
		return nil, err
	}
	types, err := csar.ReadTypes(folder)
	if err != nil {
		return nil, err
	}
	node, err := nodeImage(s)
	if err != nil {
		return nil, err
	}
	made := csar.Options{Variant: csar.Helm, Types: types}
	workload, noWorkload := csar.Workload(s.TackerSpec(node, cloudSecret), made)
	from, err := bundle.Open(s.Bundle)
	if err != nil {
		return nil, err
	}
	objects, err := clusterctl.Objects(ctx, from)
	if err != nil {
		return nil, err
	}
	management, noManagement := csar.Management(csar.Spec{Name: "slipway-capi", Version: "1.0.0"}, objects, made)
	return []*csar.Package{workload, management}, errors.Join(noWorkload, noManagement)
}

// definitions is the first folder at or below a path that has ETSI's definitions.
func definitions(below string) (found string, err error) {
	const file = "etsi_nfv_sol001_vnfd_types.yaml"
	err = filepath.WalkDir(below, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == file && !entry.IsDir() {
			found = filepath.Dir(path)
			return fs.SkipAll
		}
		return nil
	})
	if err == nil && found == "" {
		err = fmt.Errorf("no %s is below it", file)
	}
	if err != nil {
		return "", fault.Usage("SLIPWAY_TACKER_TYPES "+below, err, "name Tacker's checkout, or a folder with ETSI's SOL001 2.6.1 definitions")
	}
	return found, nil
}
