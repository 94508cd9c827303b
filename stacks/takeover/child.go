package takeover

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Child is how to reach the management cluster of a seed, which Cluster API keeps there. It
// is nil where it is not clear which one it is; [Look] tells.
func (s Site) Child(ctx context.Context, name string) (*rest.Config, error) {
	c := &Cluster{site: s}
	clusters, err := c.all(ctx, machinery()[0])
	if err != nil {
		return nil, fault.New(string(s.Role), err, "check that its API server answers from here, and its kubeconfig")
	}
	var found []string
	namespace := ""
	for _, one := range clusters {
		if name == "" || one.GetName() == name {
			found, namespace = append(found, one.GetName()), one.GetNamespace()
		}
	}
	if len(found) != 1 {
		return nil, nil
	}
	secret, err := s.Kube.Typed.CoreV1().Secrets(namespace).Get(ctx, found[0]+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		return nil, fault.New("Secret "+namespace+"/"+found[0]+"-kubeconfig", err, "give the kubeconfig of the management cluster with --kubeconfig")
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		return nil, fault.New("Secret "+namespace+"/"+found[0]+"-kubeconfig", errors.New("it has no kubeconfig that can be read"), // the library's error could quote it
			"give the kubeconfig of the management cluster with --kubeconfig")
	}
	if config.ExecProvider != nil || config.AuthProvider != nil {
		return nil, fmt.Errorf("the kubeconfig of cluster %s runs a program, which Cluster API's never does", found[0])
	}
	return config, nil
}

// Returning is the name of the environment that a seed gives back: the one that it was adopted
// as, also if it has other management clusters. Another name than that is refused: its own
// management cluster would stay as it is. It is empty if the seed was not adopted, and no name
// is given.
func (s Site) Returning(ctx context.Context, name string) (string, error) {
	r, err := (&Cluster{Role: s.Role, site: s}).readRecord(ctx)
	if err != nil {
		return "", fault.New(string(s.Role), err, "check that its API server answers from here, and its kubeconfig")
	}
	if r == nil || r.Environment == "" || r.Environment == name {
		return name, nil
	}
	if name != "" {
		return "", fault.Usage("environment "+name, fmt.Errorf("the seed was adopted as environment %s", r.Environment), "name that one, or none")
	}
	return r.Environment, nil
}
