package inside

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
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
	in := []string{metav1.NamespaceSystem, corev1.NamespaceNodeLease}
	found := make([]*coordinationv1.LeaseList, len(in))
	failed := each(len(in), func(i int) (err error) {
		found[i], err = a.client.CoordinationV1().Leases(in[i]).List(ctx, page())
		return err
	})
	if failed[0] != nil {
		return failed[0]
	}
	for _, l := range found[0].Items {
		if strings.HasPrefix(l.Name, "kube-") && l.Spec.RenewTime != nil {
			a.Leaders = append(a.Leaders, cause.Lease{Name: l.Name, Renewed: l.Spec.RenewTime.Time})
		}
	}
	if failed[1] != nil {
		return failed[1]
	}
	for _, l := range found[1].Items {
		i := slices.IndexFunc(a.Nodes, func(n cause.Node) bool { return n.Name == l.Name })
		if i >= 0 && l.Spec.RenewTime != nil {
			a.Nodes[i].Renewed = l.Spec.RenewTime.Time
		}
	}
	return cut(found[1].Continue)
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
	var (
		validating *admissionv1.ValidatingWebhookConfigurationList
		mutating   *admissionv1.MutatingWebhookConfigurationList
	)
	read := []func() error{
		func() (err error) {
			validating, err = a.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, page())
			return err
		},
		func() (err error) {
			mutating, err = a.client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, page())
			return err
		},
	}
	if err := cmp.Or(each(len(read), func(i int) error { return read[i]() })...); err != nil {
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
	var services []string
	for _, h := range a.Hooks {
		if !slices.Contains(services, h.Service) {
			services = append(services, h.Service)
		}
	}
	ready := make([]int, len(services))
	failed := each(len(services), func(i int) (err error) {
		ready[i], err = a.answering(ctx, services[i])
		return err
	})
	for i := range a.Hooks {
		at := slices.Index(services, a.Hooks[i].Service)
		if a.Hooks[i].Ready = ready[at]; failed[at] != nil {
			a.Hooks[i].Ready = -1
		}
	}
	a.Hooks = slices.DeleteFunc(a.Hooks, func(h cause.Hook) bool { return h.Ready < 0 })
	return errors.Join(failed...)
}

// answering counts the ready endpoints of a service, namespace/name.
func (a *asked) answering(ctx context.Context, service string) (ready int, err error) {
	namespace, name, _ := strings.Cut(service, "/")
	list, err := a.client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + name})
	if err != nil {
		return 0, err
	}
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready += len(e.Addresses)
			}
		}
	}
	return ready, nil
}

// atOnce bounds the questions of one kind to one cluster at the same time.
const atOnce = 8

// each asks a number of questions side by side, and returns the error of each.
func each(questions int, ask func(i int) error) []error {
	failed := make([]error, questions)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range questions {
		group.Go(func() error { failed[i] = ask(i); return nil })
	}
	_ = group.Wait() // the errors are in failed
	return failed
}
