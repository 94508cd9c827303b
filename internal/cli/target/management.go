package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// directTime is how long the management cluster may take to answer without the
// seed between.
const directTime = 10 * time.Second

// OpenManagement opens the way to the management cluster: through the seed, or,
// where that does not let in, as when it is shelved, directly. leave ends it.
func (s *Seed) OpenManagement(ctx context.Context, loaded *config.Loaded) (m *workload.Management, leave func(), err error) {
	if s.Management == "" {
		return nil, nil, fault.New("management cluster of "+loaded.Environment.Metadata.Name, errors.New("it is not ready yet, or the environment has none"),
			"slipway status shows how far it is; without spec.managementCluster there is none")
	}
	name := loaded.Environment.Metadata.Name
	machine, noLogin := s.Login(ctx)
	if noLogin != nil {
		config, err := direct(ctx, s.Management)
		if err != nil {
			return nil, nil, fmt.Errorf("reaching the management cluster: %w", noLogin)
		}
		m, err := workload.New(name, config)
		return m, func() {}, err
	}
	config, err := kubernetes.Through(machine, s.Management)
	if err == nil {
		m, err = workload.New(name, config)
	}
	if err != nil {
		machine.Close()
		return nil, nil, err
	}
	return m, func() { machine.Close() }, nil
}

// direct is the client configuration of a kubeconfig whose server answers.
func direct(ctx context.Context, kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	cluster, err := kube.New(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, directTime)
	defer cancel()
	_, err = cluster.Typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return config, err
}

// WorkloadValues are the values that the environment has for clusters.
func (s *Seed) WorkloadValues(loaded *config.Loaded) (map[string]any, error) {
	var management map[string]any
	if err := json.Unmarshal([]byte(s.ManagementValues), &management); err != nil {
		return nil, fault.New("management cluster", errors.New("the state does not have its values"), "slipway up writes them")
	}
	return stacks.WorkloadValues(loaded.Environment, management), nil
}

// WorkloadCloud is the environment's cloud for clusters: their credentials may
// what the environment's own may.
func (t *Target) WorkloadCloud(s *Seed) (workload.Cloud, error) {
	var own struct {
		Roles       []string               `json:"roles"`
		AccessRules []openstack.AccessRule `json:"accessRules"`
	}
	text, err := json.Marshal(s.credential)
	if err == nil {
		err = json.Unmarshal(text, &own)
	}
	if err != nil {
		return workload.Cloud{}, errors.New("reading the environment's credential: the state does not say what it may") // the library's words could quote it
	}
	project, err := projectID(t.Cloud)
	if err != nil {
		return workload.Cloud{}, err
	}
	authority, err := read(t.Environment.Spec.CABundle)
	if err != nil {
		return workload.Cloud{}, err
	}
	var authorities []string
	if authority != "" {
		authorities = []string{authority}
	}
	return workload.Cloud{Clients: t.Cloud, UserID: t.Inventory.UserID, Roles: own.Roles, AccessRules: own.AccessRules, Login: t.login(project, authorities)}, nil
}

// ClusterKubeconfig is the file of a cluster's kubeconfig. Clusters do not share
// one: those of a namespace that is not called like them have it in the name.
func ClusterKubeconfig(loaded *config.Loaded, key workload.Key) string {
	name := key.Name
	if key.Namespace != key.Name {
		name = key.Namespace + "." + key.Name // no name has a dot
	}
	return filepath.Join(loaded.SecretsDir(), "clusters", name+".kubeconfig")
}

// WriteClusterKubeconfig writes a cluster's kubeconfig into a file, and makes its
// folder.
func WriteClusterKubeconfig(path, text string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = WriteSecret(path, text)
	}
	if err != nil {
		return fault.New(path, fmt.Errorf("writing the kubeconfig: %w", err), "choose another file")
	}
	return nil
}

// RemoveClusterKubeconfig takes away the kubeconfig of a cluster that is gone.
func RemoveClusterKubeconfig(loaded *config.Loaded, key workload.Key) error {
	err := os.Remove(ClusterKubeconfig(loaded, key))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
