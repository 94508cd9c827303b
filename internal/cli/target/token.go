package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// The service account of the token kubeconfig on the management cluster.
const (
	accountNamespace = "kube-system"
	accountName      = "slipway-access"
)

// tokenFile is the token kubeconfig in the folder of secrets.
func tokenFile(loaded *config.Loaded) string {
	return filepath.Join(loaded.SecretsDir(), "management-token.kubeconfig")
}

// WriteTokenKubeconfig writes the kubeconfig with a token that
// spec.managementCluster.kubeconfig.token asks for, and returns its path. It keeps
// the existing token while that is valid long enough; with rotate it always
// creates a new one. If the environment asks for no token, or there is no
// management cluster, the path is empty, and an older file is removed and its
// token revoked.
func WriteTokenKubeconfig(ctx context.Context, seed *Seed, loaded *config.Loaded, rotate bool) (string, error) {
	path := tokenFile(loaded)
	wanted := wantsToken(loaded)
	if _, err := os.Stat(path); seed.Management == "" || wanted == nil && err != nil {
		return "", nil
	}
	config, leave, err := seed.Reach(ctx, seed.Management)
	if err != nil {
		return "", err
	}
	defer leave()
	cluster, err := kube.New(config)
	if err != nil {
		return "", err
	}
	if err := writeToken(ctx, cluster, seed.Management, path, wanted, rotate); err != nil {
		return "", fault.New("token kubeconfig", err, "check the management cluster with slipway status, then run the same command again")
	}
	if wanted == nil {
		return "", nil
	}
	return path, nil
}

func wantsToken(loaded *config.Loaded) *config.TokenKubeconfig {
	if m := loaded.Environment.Spec.ManagementCluster; m != nil && m.Kubeconfig != nil {
		return m.Kubeconfig.Token
	}
	return nil
}

// writeToken reconciles the file and the service account. Older tokens are revoked
// once the new one is in the file.
func writeToken(ctx context.Context, cluster *kube.Cluster, administrator, path string, wanted *config.TokenKubeconfig, rotate bool) error {
	account := kube.Account{Namespace: accountNamespace, Name: accountName}
	if wanted == nil {
		if err := cluster.RevokeTokens(ctx, account, ""); err != nil {
			return err // the file stays: without it the next run would revoke nothing
		}
		return os.Remove(path)
	}
	account.ClusterRole, account.Lifetime = wanted.ClusterRole, time.Duration(wanted.Lifetime)
	old := ""
	if !rotate {
		old = tokenIn(path)
	}
	token, err := cluster.Token(ctx, account, old)
	if err != nil {
		return err
	}
	text, err := withToken(administrator, token)
	if err != nil {
		return err
	}
	if err := WriteSecret(path, text); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return cluster.RevokeTokens(ctx, account, token)
}

// tokenIn returns the token of a kubeconfig file, "" if there is none.
func tokenIn(path string) string {
	file, err := clientcmd.LoadFromFile(path)
	if err != nil || file.AuthInfos[accountName] == nil {
		return ""
	}
	return file.AuthInfos[accountName].Token
}

// withToken returns the administrator's kubeconfig with the token in place of the
// client certificate.
func withToken(administrator, token string) (string, error) {
	file, err := clientcmd.Load([]byte(administrator))
	if err != nil {
		return "", fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	current := file.Contexts[file.CurrentContext]
	if current == nil {
		return "", errors.New("the administrator's kubeconfig has no current context")
	}
	current.AuthInfo = accountName
	file.AuthInfos = map[string]*clientcmdapi.AuthInfo{accountName: {Token: token}}
	file.Contexts = map[string]*clientcmdapi.Context{file.CurrentContext: current}
	text, err := clientcmd.Write(*file)
	return string(text), err
}
