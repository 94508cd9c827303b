package inside

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/cause"
)

// network reads how large the packets of pods may be, from the settings of the network
// plugins that Slipway installs. One that leaves it to the plugin is not known.
func (a *asked) network(ctx context.Context) error {
	for _, read := range []func(context.Context) (*cause.PodNetwork, error){a.cilium, a.flannel, a.calico} {
		found, err := read(ctx)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if found != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.PodNetwork = found
			return nil
		}
	}
	return nil
}

// cilium takes what it puts around packets from the MTU in its settings by itself.
func (a *asked) cilium(ctx context.Context) (*cause.PodNetwork, error) {
	settings, err := a.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "cilium-config", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	mtu, err := strconv.Atoi(settings.Data["mtu"])
	if err != nil || mtu == 0 {
		return nil, nil // the plugin finds it out
	}
	return &cause.PodNetwork{Plugin: "cilium", Setting: "ConfigMap kube-system/cilium-config", MTU: mtu}, nil
}

// flannel does as cilium.
func (a *asked) flannel(ctx context.Context) (*cause.PodNetwork, error) {
	settings, err := a.client.CoreV1().ConfigMaps("kube-flannel").Get(ctx, "kube-flannel-cfg", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var network struct{ Backend struct{ MTU int } }
	if json.Unmarshal([]byte(settings.Data["net-conf.json"]), &network) != nil || network.Backend.MTU == 0 {
		return nil, nil
	}
	return &cause.PodNetwork{Plugin: "flannel", Setting: "ConfigMap kube-flannel/kube-flannel-cfg", MTU: network.Backend.MTU}, nil
}

// installation is Calico's, of its operator (operator.tigera.io/v1).
type installation struct {
	Spec struct {
		CalicoNetwork struct {
			MTU     int `json:"mtu"`
			IPPools []struct {
				Encapsulation string `json:"encapsulation"`
			} `json:"ipPools"`
		} `json:"calicoNetwork"`
	} `json:"spec"`
	Status struct {
		MTU int `json:"mtu"`
	} `json:"status"`
}

// calico has the MTU of pods in its settings, without what it puts around their packets.
func (a *asked) calico(ctx context.Context) (*cause.PodNetwork, error) {
	if a.raw == nil {
		return nil, nil
	}
	text, err := a.raw(ctx, "/apis/operator.tigera.io/v1/installations/default")
	if err != nil {
		return nil, err
	}
	return calicoSays(text), nil
}

func calicoSays(text []byte) *cause.PodNetwork {
	var i installation
	if json.Unmarshal(text, &i) != nil {
		return nil
	}
	mtu, overhead := i.Spec.CalicoNetwork.MTU, 0
	if mtu == 0 {
		mtu = i.Status.MTU
	}
	for _, pool := range i.Spec.CalicoNetwork.IPPools {
		switch strings.ToUpper(pool.Encapsulation) { // CrossSubnet is not needed between nodes of one subnet
		case "VXLAN":
			overhead = max(overhead, 50)
		case "IPIP":
			overhead = max(overhead, 20)
		}
	}
	if mtu == 0 {
		return nil
	}
	return &cause.PodNetwork{Plugin: "calico", Setting: "Installation default", MTU: mtu, Overhead: overhead}
}
