package kubernetes

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/component"
)

// registered takes the place of the engine: it keeps the inputs of resources.
type registered struct {
	mu     sync.Mutex
	inputs map[string]resource.PropertyMap
}

func (r *registered) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inputs[args.TypeToken+" "+args.Name] = args.Inputs
	return args.Name, args.Inputs, nil
}

func (*registered) Call(pulumi.MockCallArgs) (resource.PropertyMap, error) { return nil, nil }

// TestWhatIsOptionalIsLeftOut of a resource's inputs when it is not wanted: a state that was written
// before the option was there has no difference then.
func TestWhatIsOptionalIsLeftOut(t *testing.T) {
	t.Parallel()
	r := &registered{inputs: map[string]resource.PropertyMap{}}
	word := pulumi.String("x")
	login := LoginRefs{Address: word, HostKey: word, PrivateKey: word, User: word}
	variables := map[string]string{"HTTPS_PROXY": "http://proxy"}
	err := pulumi.RunErr(func(ctx *pulumi.Context) error {
		for _, name := range []string{"plain", "full"} {
			full := name == "full"
			k3s := K3sRefs{LoginRefs: login, ServerID: word, Files: word, Node: "n"}
			api := ClusterAPIRefs{LoginRefs: login, Kubeconfig: word, ServerID: word, Versions: component.Versions{CertManager: "v1", ORC: "v2"}}
			own := ControllersRefs{LoginRefs: login, Kubeconfig: word, ServerID: word}
			magnum := MagnumRefs{LoginRefs: login, Kubeconfig: word, ServerID: word, Settings: word}
			console := TenantConsoleRefs{LoginRefs: login, URL: word, Kubeconfig: word, ServerID: word, Settings: word}
			cluster := ClusterRefs{LoginRefs: login, Kubeconfig: word, ServerID: word, Name: "c", Namespace: "default", Values: word}
			if full {
				k3s.Payload, k3s.Networks, k3s.Release = "p", []string{"10.0.0.0/8"}, "v1.34.4"
				api.TrustBundle, api.Environment, api.Monitored, api.Alone = "ca", variables, true, true
				own.Environment, own.Alone, own.Fence, own.Backup = variables, true, word, word
				magnum.Environment, magnum.Fence = variables, word
				console.Environment = variables
				cluster.Version = "1.34.4"
			}
			for _, add := range []func() error{
				func() error { _, err := NewK3s(ctx, name, k3s); return err },
				func() error { _, err := NewClusterAPI(ctx, name, api); return err },
				func() error { _, err := NewControllers(ctx, name, own); return err },
				func() error { _, err := NewMagnum(ctx, name, magnum); return err },
				func() error { _, err := NewTenantConsole(ctx, name, console); return err },
				func() error { _, err := NewCluster(ctx, name, cluster); return err },
			} {
				if err := add(); err != nil {
					return err
				}
			}
		}
		return nil
	}, pulumi.WithMocks("project", "stack", r))
	if err != nil {
		t.Fatal(err)
	}
	for kind, optional := range map[string]string{
		"K3s": "networks payload release", "ClusterAPI": "alone environment monitored trustBundle", "Controllers": "alone backup environment fence",
		"Magnum": "environment fence", "TenantConsole": "environment", "Cluster": "kubernetesVersion",
	} {
		plain, full := r.inputs["slipway:kubernetes:"+kind+" plain"], r.inputs["slipway:kubernetes:"+kind+" full"]
		var more []string
		for name := range full {
			if _, there := plain[name]; !there {
				more = append(more, string(name))
			}
		}
		slices.Sort(more)
		if got := strings.Join(more, " "); got != optional || len(plain) == 0 || plain["address"].StringValue() != "x" {
			t.Errorf("%s: optional are %q, want %q; plain has %d inputs", kind, got, optional, len(plain))
		}
	}
}

// TestALocalSeedTakesThePlaceOfALogin: its settings are secret, and there is no machine to log in to.
func TestALocalSeedTakesThePlaceOfALogin(t *testing.T) {
	t.Parallel()
	local := LoginRefs{Local: "settings", Address: pulumi.String("192.0.2.5")}.properties()
	if local["address"] != pulumi.String("") || local["local"] == nil || local["privateKey"] != pulumi.String("") {
		t.Errorf("a local seed: %v", local)
	}
	server := LoginRefs{Address: pulumi.String("192.0.2.5"), PrivateKey: pulumi.String("key")}.properties()
	if _, there := server["local"]; there || server["address"] != pulumi.String("192.0.2.5") {
		t.Errorf("a server: %v", server)
	}
}
