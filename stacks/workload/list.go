package workload

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/clusterapi/within"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Summary is a cluster in a list.
type Summary struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	MadeBy    Origin `json:"madeBy"`
	// Phase is Cluster API's phase, or "Available".
	Phase        string           `json:"phase"`
	Version      string           `json:"version,omitempty"`
	ControlPlane clusterapi.Count `json:"controlPlane"`
	Workers      clusterapi.Count `json:"workers"`
	Created      time.Time        `json:"created"`
	Ready        bool             `json:"ready"`
	// Cause is the first cause of what is not well, Reason its stable id.
	Cause  string `json:"cause,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Tenant is how the Magnum API calls it; nil for other clusters.
	Tenant *Tenant `json:"magnum,omitempty"`
	// Project is nil for clusters in the environment's, and for those of tenants.
	Project *Project `json:"project,omitempty"`
}

// List lists the workload clusters of the management cluster, by namespace. Their clouds are
// asked, once per project, and the clusters themselves.
func (m *Management) List(ctx context.Context) ([]Summary, error) {
	all, err := clusterapi.ReadAll(ctx, m.Kube.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	reports := m.Reports(ctx, all, false, func(clusterapi.Report) bool { return true })
	namespaces, err := m.Kube.Typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	labels := map[string]map[string]string{}
	for _, namespace := range namespaces.Items {
		labels[namespace.Name] = namespace.Labels
	}
	marked, err := m.marked(ctx, metav1.NamespaceAll, "")
	if err != nil {
		return nil, err
	}
	released, homes := map[Key]bool{}, homesOf(marked)
	for _, secret := range marked {
		released[Key{Namespace: secret.Namespace, Name: secret.Labels[LabelCluster]}] = true
	}
	tenants, err := Tenants(ctx, m.Kube.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	list := []Summary{}
	for _, r := range reports {
		key := Key{Namespace: r.Namespace, Name: r.Name}
		if !m.itself(key) {
			s := summary(r, m.origin(key, labels[r.Namespace], released[key]))
			s.Tenant, s.Project = tenant(tenants, key), homes[key]
			list = append(list, s)
		}
	}
	return list, nil
}

func summary(r clusterapi.Report, by Origin) Summary {
	s := Summary{Namespace: r.Namespace, Name: r.Name, MadeBy: by, Phase: r.State(), Version: r.Version, ControlPlane: r.ControlPlane, Workers: r.Workers,
		Created: r.Created, Ready: r.Ready()}
	if len(r.Findings) > 0 {
		s.Cause, s.Reason = r.Findings[0].Line(), r.Findings[0].Reason
	} else if part, waiting := r.Waiting(); waiting {
		s.Cause = part.Kind + " " + part.Name + ": " + part.State
		if part.Cause != "" {
			s.Cause += ": " + part.Cause
		}
	}
	return s
}

// Description is a cluster with its parts.
type Description struct {
	MadeBy Origin `json:"madeBy"`
	clusterapi.Report
	// Tenant is how the Magnum API calls it; nil for other clusters.
	Tenant *Tenant `json:"magnum,omitempty"`
	// Project is nil for a cluster in the environment's, and for those of tenants.
	Project *Project `json:"project,omitempty"`
	// Details are the conditions and the last events of the part that is waited for,
	// one per line.
	Details string `json:"details,omitempty"`
}

// Reports are those of clusters, with all that their clouds and they themselves say of
// those that wanted chooses: the same questions as of slipway why. closer adds what is asked
// machine by machine, such as consoles.
func (m *Management) Reports(ctx context.Context, all clusterapi.Clusters, closer bool, wanted func(clusterapi.Report) bool) []clusterapi.Report {
	var themselves within.Said
	var group sync.WaitGroup
	group.Go(func() { themselves = within.Ask(ctx, m.Way, all, wanted) })
	var controllers []cause.Controller
	group.Go(func() { controllers = clusterapi.Controllers(ctx, m.Kube.Dynamic) })
	clouds := all.Ask(ctx, m.Kube.Dynamic, look.NewCache(time.Now), closer, wanted)
	group.Wait()
	return all.Judge(func(namespace, name string) clusterapi.Known {
		k := clusterapi.Known{Cloud: clouds.Of(namespace, name), Controllers: controllers}
		k.Inside, k.Unseen = themselves.Of(namespace, name)
		k.Unseen = append(k.Unseen, clouds.Unseen(namespace, name)...)
		return k
	}, time.Now())
}

// Describe returns everything that Cluster API reports about a cluster, and the causes
// that the cloud and the cluster itself know.
func (m *Management) Describe(ctx context.Context, key Key) (Description, error) {
	all, err := clusterapi.ReadAll(ctx, m.Kube.Dynamic, key.Namespace)
	if err != nil {
		return Description{}, err
	}
	for _, r := range m.Reports(ctx, all, true, func(r clusterapi.Report) bool { return r.Name == key.Name }) {
		if r.Name != key.Name {
			continue
		}
		there, err := m.look(ctx, key)
		if err != nil {
			return Description{}, err
		}
		tenants, err := Tenants(ctx, m.Kube.Dynamic, key.Namespace)
		if err != nil {
			return Description{}, err
		}
		marked, err := m.marked(ctx, key.Namespace, key.Name)
		if err != nil {
			return Description{}, err
		}
		d := Description{MadeBy: there.origin, Report: r, Tenant: tenant(tenants, key), Project: homesOf(marked)[key]}
		if part, waiting := r.Waiting(); waiting {
			d.Details = clusterapi.Details(ctx, m.Kube.Dynamic, key.Namespace, part)
		}
		return d, nil
	}
	return Description{}, Absent(key)
}

// Absent is the error for a cluster that does not exist.
func Absent(key Key) error {
	return fault.Usage(object(key), fmt.Errorf("it does not exist"), "list the clusters with slipway cluster list")
}
