package inside

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/cause"
)

// page is how lists are read: from the API server's cache, and bounded.
func page() metav1.ListOptions { return metav1.ListOptions{Limit: lists} }

func (a *asked) nodes(ctx context.Context) error {
	list, err := a.client.CoreV1().Nodes().List(ctx, page())
	if err != nil {
		return err
	}
	for _, n := range list.Items {
		one := cause.Node{Name: n.Name, Version: n.Status.NodeInfo.KubeletVersion, Created: n.CreationTimestamp.Time}
		for _, t := range n.Spec.Taints {
			one.Taints = append(one.Taints, t.Key)
		}
		for _, c := range n.Status.Conditions {
			one.Conditions = append(one.Conditions, cause.NodeCondition{Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: cause.Text(c.Message), Since: c.LastTransitionTime.Time})
		}
		a.Nodes = append(a.Nodes, one)
	}
	return cut(list.Continue)
}

// leases are those of the leaders, and of the nodes.
func (a *asked) leases(ctx context.Context) error {
	leaders, err := a.client.CoordinationV1().Leases(metav1.NamespaceSystem).List(ctx, page())
	if err != nil {
		return err
	}
	for _, l := range leaders.Items {
		if strings.HasPrefix(l.Name, "kube-") && l.Spec.RenewTime != nil {
			a.Leaders = append(a.Leaders, cause.Lease{Name: l.Name, Renewed: l.Spec.RenewTime.Time})
		}
	}
	kubelets, err := a.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, page())
	if err != nil {
		return err
	}
	for _, l := range kubelets.Items {
		i := slices.IndexFunc(a.Nodes, func(n cause.Node) bool { return n.Name == l.Name })
		if i >= 0 && l.Spec.RenewTime != nil {
			a.Nodes[i].Renewed = l.Spec.RenewTime.Time
		}
	}
	return cut(kubelets.Continue)
}

// warnings are those about the system and its addons, about nodes, and about volumes and
// webhooks anywhere: the rest is the tenant's own.
func (a *asked) warnings(ctx context.Context) error {
	o := page()
	o.FieldSelector = "type=" + corev1.EventTypeWarning
	list, err := a.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, o)
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		if !ours(e) {
			continue
		}
		last := e.LastTimestamp.Time
		switch {
		case e.Series != nil:
			last = e.Series.LastObservedTime.Time
		case last.IsZero() && !e.EventTime.IsZero():
			last = e.EventTime.Time
		case last.IsZero():
			last = e.CreationTimestamp.Time
		}
		name := e.InvolvedObject.Name
		if e.InvolvedObject.Namespace != "" {
			name = e.InvolvedObject.Namespace + "/" + name
		}
		a.Warnings = append(a.Warnings, cause.Warning{Namespace: e.Namespace, About: cause.Ref{Kind: e.InvolvedObject.Kind, Name: name}, Reason: e.Reason, Message: cause.Text(e.Message),
			First: earliest(e.FirstTimestamp.Time, last), Last: last})
	}
	return cut(list.Continue)
}

func earliest(first, last time.Time) time.Time {
	if first.IsZero() {
		return last
	}
	return first
}

// ours reports whether a warning may be looked at.
func ours(e corev1.Event) bool {
	return cause.System(e.InvolvedObject.Namespace) || e.InvolvedObject.Kind == "Node" || strings.Contains(e.Message, "failed calling webhook") || e.Reason == "FailedAttachVolume" || e.Reason == "ProvisioningFailed" || e.Reason == "SyncLoadBalancerFailed" ||
		e.Reason == "FailedScheduling" && strings.Contains(e.Message, "volume count") || strings.Contains(e.Message, "database space exceeded")
}

// attachments are volumes that are not attached although they are to be.
func (a *asked) attachments(ctx context.Context) error {
	list, err := a.client.StorageV1().VolumeAttachments().List(ctx, page())
	if err != nil {
		return err
	}
	for _, v := range list.Items {
		if v.Status.Attached || v.Status.AttachError == nil || v.DeletionTimestamp != nil {
			continue
		}
		one := cause.Attachment{Node: v.Spec.NodeName, Error: cause.Text(v.Status.AttachError.Message), Since: v.Status.AttachError.Time.Time}
		if v.Spec.Source.PersistentVolumeName != nil {
			one.Volume = *v.Spec.Source.PersistentVolumeName
		}
		a.Attachments = append(a.Attachments, one)
	}
	return cut(list.Continue)
}

// hooks are the webhooks that services in the cluster answer.
func (a *asked) hooks(ctx context.Context) error {
	validating, err := a.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, page())
	if err != nil {
		return err
	}
	mutating, err := a.client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, page())
	if err != nil {
		return err
	}
	for _, c := range validating.Items {
		for _, w := range c.Webhooks {
			a.hook(w.Name, "ValidatingWebhookConfiguration "+c.Name, w.ClientConfig.Service, w.FailurePolicy, c.CreationTimestamp.Time)
		}
	}
	for _, c := range mutating.Items {
		for _, w := range c.Webhooks {
			a.hook(w.Name, "MutatingWebhookConfiguration "+c.Name, w.ClientConfig.Service, w.FailurePolicy, c.CreationTimestamp.Time)
		}
	}
	return a.endpoints(ctx)
}

func (a *asked) hook(name, configuration string, service *admissionv1.ServiceReference, policy *admissionv1.FailurePolicyType, created time.Time) {
	if service != nil {
		a.Hooks = append(a.Hooks, cause.Hook{Name: name, Configuration: configuration, Service: service.Namespace + "/" + service.Name,
			Required: policy == nil || *policy == admissionv1.Fail, Created: created})
	}
}

// endpoints counts the ready endpoints of the webhooks' services. A webhook whose service
// cannot be read is left out.
func (a *asked) endpoints(ctx context.Context) error {
	ready := map[string]int{}
	var missing error
	for _, h := range a.Hooks {
		if _, known := ready[h.Service]; known {
			continue
		}
		namespace, name, _ := strings.Cut(h.Service, "/")
		list, err := a.client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + name})
		if err != nil {
			missing = errors.Join(missing, err)
			ready[h.Service] = -1
			continue
		}
		ready[h.Service] = 0
		for _, slice := range list.Items {
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready == nil || *e.Conditions.Ready {
					ready[h.Service] += len(e.Addresses)
				}
			}
		}
	}
	for i := range a.Hooks {
		a.Hooks[i].Ready = ready[a.Hooks[i].Service]
	}
	a.Hooks = slices.DeleteFunc(a.Hooks, func(h cause.Hook) bool { return h.Ready < 0 })
	return missing
}
