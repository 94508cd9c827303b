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

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// directTime bounds a direct request to the management cluster, without the seed
// in between.
const directTime = 10 * time.Second

// OpenManagement connects to the management cluster of an environment, as Seed.OpenManagement does.
// It reads the state, and does not contact the cloud.
func OpenManagement(ctx context.Context, from environment.Flags) (m *workload.Management, loaded *config.Loaded, leave func(), err error) {
	seed, loaded, err := OpenSeed(ctx, from)
	if err != nil {
		return nil, nil, nil, err
	}
	m, leave, err = seed.OpenManagement(ctx, loaded)
	return m, loaded, leave, err
}

// OpenMonitored connects to the cluster that spec.monitoring is about: the management cluster, or
// the seed if the environment has none. The rest is as with OpenManagement.
func OpenMonitored(ctx context.Context, from environment.Flags) (on *kube.Cluster, loaded *config.Loaded, leave func(), err error) {
	seed, loaded, err := OpenSeed(ctx, from)
	if err != nil {
		return nil, nil, nil, err
	}
	if loaded.Environment.Spec.ManagementCluster != nil {
		m, leave, err := seed.OpenManagement(ctx, loaded)
		if err != nil {
			return nil, nil, nil, err
		}
		return m.Kube, loaded, leave, nil
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if on, err = kubernetes.Reach(machine, seed.Kubeconfig); err != nil {
		machine.Close()
		return nil, nil, nil, err
	}
	return on, loaded, func() { machine.Close() }, nil
}

// OpenManagement connects to the management cluster: through the seed, or directly
// if the seed does not answer, as when it is shelved. leave closes the connection.
func (s *Seed) OpenManagement(ctx context.Context, loaded *config.Loaded) (m *workload.Management, leave func(), err error) {
	if s.Management == "" {
		return nil, nil, fault.New("management cluster of "+loaded.Environment.Metadata.Name, errors.New("it is not ready yet, or the environment has none"),
			"see its progress with slipway status; without spec.managementCluster there is none")
	}
	config, machine, leave, err := s.reach(ctx, s.Management)
	if err != nil {
		return nil, nil, err
	}
	if m, err = workload.New(loaded.Environment.Metadata.Name, config); err != nil {
		leave()
		return nil, nil, err
	}
	m.Way = Way(m.Kube, machine)
	return m, leave, nil
}

// Reach returns the client configuration of a kubeconfig of the environment: through
// the seed, or directly if the seed does not answer. leave closes the connection.
func (s *Seed) Reach(ctx context.Context, kubeconfig string) (config *rest.Config, leave func(), err error) {
	config, _, leave, err = s.reach(ctx, kubeconfig)
	return config, leave, err
}

// reach is Reach, with the connection to the seed; nil if it is not needed.
func (s *Seed) reach(ctx context.Context, kubeconfig string) (config *rest.Config, machine *remote.Machine, leave func(), err error) {
	config, err = kubernetes.Config(kubeconfig)
	if err != nil {
		return nil, nil, nil, fault.New("management cluster", fmt.Errorf("its kubeconfig in the state cannot be used: %w", err), "import a former state with slipway state import")
	}
	if s.Local != "" {
		if err := answers(ctx, config); err != nil {
			return nil, nil, nil, fault.New("management cluster", fmt.Errorf("its API does not answer this machine: %w", err), "see its servers with slipway status; it has no seed to go through, so this machine must reach its address")
		}
		return config, nil, func() {}, nil
	}
	machine, noLogin := s.Login(ctx)
	if noLogin != nil {
		if answers(ctx, config) != nil {
			return nil, nil, nil, fmt.Errorf("reaching the management cluster: %w", noLogin)
		}
		return config, nil, func() {}, nil
	}
	if config, err = kubernetes.Through(machine, kubeconfig); err != nil {
		machine.Close()
		return nil, nil, nil, err
	}
	return config, machine, func() { machine.Close() }, nil
}

// answers asks a cluster without going through the seed.
func answers(ctx context.Context, config *rest.Config) error {
	cluster, err := kube.New(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, directTime)
	defer cancel()
	_, err = cluster.Typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

// WorkloadValues returns the environment's default values for workload clusters.
func (s *Seed) WorkloadValues(loaded *config.Loaded) (map[string]any, error) {
	var management map[string]any
	if err := json.Unmarshal([]byte(s.ManagementValues), &management); err != nil {
		return nil, fault.New("management cluster", errors.New("its values are not in the state"), "run slipway up, which writes them")
	}
	return stacks.WorkloadValues(loaded.Environment, management), nil
}

// WorkloadCloud returns the environment's cloud for workload clusters: their
// application credentials get the roles of the environment's own.
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
		return workload.Cloud{}, errors.New("reading the environment's application credential: its roles are not in the state") // the library's error could quote it
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
	c := workload.Cloud{Clients: t.Cloud, UserID: t.Inventory.UserID, Roles: own.Roles, AccessRules: own.AccessRules, Login: t.login(project, authorities),
		Operator: t.Cloud, Administrator: openstack.Administrator(t.administrator)}
	if wanted := t.Environment.Spec.Credential; wanted.Separate {
		c.Separate(accessRules(wanted.CloudProviderAccessRules))
	}
	return c, nil
}

func accessRules(wanted []config.AccessRule) (rules []openstack.AccessRule) {
	for _, rule := range wanted {
		rules = append(rules, openstack.AccessRule{Service: rule.Service, Method: rule.Method, Path: rule.Path})
	}
	return rules
}

// ClusterKubeconfig is the path of a cluster's kubeconfig file. It contains the
// namespace if that differs from the cluster's name, so that no two clusters share
// a file.
func ClusterKubeconfig(loaded *config.Loaded, key workload.Key) string {
	name := key.Name
	if key.Namespace != key.Name {
		name = key.Namespace + "." + key.Name // no name has a dot
	}
	return filepath.Join(loaded.SecretsDir(), "clusters", name+".kubeconfig")
}

// WriteClusterKubeconfig writes a cluster's kubeconfig into a file, and creates
// the file's folder.
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

// RemoveClusterKubeconfig removes the kubeconfig file of a cluster that is gone.
func RemoveClusterKubeconfig(loaded *config.Loaded, key workload.Key) error {
	err := os.Remove(ClusterKubeconfig(loaded, key))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// OnManagement does something on the management cluster.
func (t *Target) OnManagement(ctx context.Context, do func(*kube.Cluster) error) error {
	seed, err := t.Seed(ctx)
	if err != nil {
		return err
	}
	m, leave, err := seed.OpenManagement(ctx, t.Loaded)
	if err != nil {
		return err
	}
	defer leave()
	return do(m.Kube)
}
