// Package driver maps a Magnum cluster to values of the openstack-cluster
// chart, the way magnum-capi-helm does, and lets work what that driver ignores.
// It is pure: the same input gives the same values, and it asks nobody.
//
// docs/guides/magnum-labels.md says label by label what comes of it.
package driver

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Input is what values are made of.
type Input struct {
	// Cluster has spec.template and spec.resolved filled in.
	Cluster *v1alpha1.Cluster
	// Groups are the node groups to be there, in any order.
	Groups []*v1alpha1.NodeGroup
	// Held keeps worker groups, by the name of their objects, on what they have
	// while the control plane is upgraded before them.
	Held map[string]Software
	// AuthURL is Keystone's address, for logging in to the cluster by it.
	AuthURL string
	// Credential, if set, names the application credential and the CA certificates of the cloud
	// that what runs on the cluster is to be restarted for: it reads its Secret once only.
	Credential string
	// Running is what there is of the cluster, of which it keeps what is never changed.
	Running Running
	// Defaults are the operator's.
	Defaults Defaults
}

// Software is what machines of a group run.
type Software struct {
	// ImageID is an id of Glance.
	ImageID string
	// KubernetesVersion is without its v.
	KubernetesVersion string
}

// Defaults are the operator's settings, those of magnum-capi-helm's
// configuration.
type Defaults struct {
	// Labels are values of labels that neither cluster nor template have, as
	// the group [capi_helm_cluster_labels].
	Labels map[string]string
	// AllowedTopologies are of every storage class, as
	// csi_cinder_allowed_topologies.
	AllowedTopologies []any
	// Values are the chart's of every cluster, under what comes of the cluster
	// itself: tables are merged, and of the same key the cluster's wins.
	Values map[string]any
}

// Warning is a setting that has not the effect its author may expect.
type Warning struct {
	// Setting is "label kube_tag" or "property tls_disabled".
	Setting string
	// Message says why, and what would work.
	Message string
}

// String is the warning in one line.
func (w Warning) String() string { return w.Setting + ": " + w.Message }

// Output is what a cluster is made of.
type Output struct {
	// Values of the chart.
	Values map[string]any
	// Warnings sorted by setting.
	Warnings []Warning
	// Kept are settings that the running cluster has otherwise than asked for; Values have what
	// it has.
	Kept []Kept
}

// Values returns the chart's values of a cluster. Errors are faults that name
// the setting and the remedy; all that are found are joined.
func Values(in Input) (Output, error) {
	b := &builder{Input: in, labels: newLabels(in.Cluster.EffectiveLabels(), in.Defaults.Labels), values: tree{}}
	if in.Cluster.Spec.Template == nil || in.Cluster.Spec.Resolved == nil {
		return Output{}, fault.New("cluster "+in.Cluster.Title(), errors.New("its template does not exist"), "name an existing template")
	}
	for _, step := range []func(){b.software, b.network, b.apiServer, b.controlPlane, b.workers, b.groups, b.openstack, b.addons, b.properties} {
		step()
	}
	if err := errors.Join(b.errs...); err != nil {
		return Output{}, err
	}
	b.values.fill(in.Defaults.Values)
	b.keep()
	warnings := append(b.warnings, b.labels.leftOver()...)
	slices.SortStableFunc(warnings, func(a, c Warning) int { return cmp.Compare(a.String(), c.String()) })
	return Output{Values: b.values, Warnings: slices.Compact(warnings), Kept: b.kept}, nil
}

// builder collects values, warnings and errors.
type builder struct {
	Input
	labels   *labels
	values   tree
	warnings []Warning
	kept     []Kept
	errs     []error
}

func (b *builder) template() *v1alpha1.TemplateSnapshot { return b.Cluster.Spec.Template }
func (b *builder) resolved() *v1alpha1.ResolvedNames    { return b.Cluster.Spec.Resolved }

func (b *builder) set(path string, value any) { b.values.set(path, value) }

// setText sets what is not empty.
func (b *builder) setText(path, value string) {
	if value != "" {
		b.set(path, value)
	}
}

func (b *builder) warn(setting, format string, args ...any) {
	b.warnings = append(b.warnings, Warning{setting, fmt.Sprintf(format, args...)})
}

func (b *builder) refuse(object string, cause error, remedy string) {
	b.errs = append(b.errs, fault.New(object, cause, remedy))
}

// tree is nested values, as of a YAML document.
type tree map[string]any

// set sets a value at a path of keys with dots between them.
func (t tree) set(path string, value any) {
	keys := strings.Split(path, ".")
	at := map[string]any(t)
	for _, key := range keys[:len(keys)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	at[keys[len(keys)-1]] = value
}

// unset takes away what is at a path of keys.
func (t tree) unset(path string) {
	keys := strings.Split(path, ".")
	at := map[string]any(t)
	for _, key := range keys[:len(keys)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			return
		}
		at = next
	}
	delete(at, keys[len(keys)-1])
}

// fill adds copies of what is missing, table by table. Null says nothing: in a
// status it would not be kept either.
func (t tree) fill(from map[string]any) {
	for key, value := range from {
		have, there := t[key]
		if !there && value != nil {
			t[key] = copied(value)
			continue
		}
		table, isTable := have.(map[string]any)
		if more, ok := value.(map[string]any); ok && isTable {
			tree(table).fill(more)
		}
	}
}

func copied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		table := tree{}
		table.fill(value)
		return map[string]any(table)
	case []any:
		list := make([]any, 0, len(value))
		for _, element := range value {
			list = append(list, copied(element))
		}
		return list
	}
	return value
}

// groupName is the chart's rule, which is Cluster API's of labels and names.
var groupName = regexp.MustCompile(`^[a-z][a-z0-9-]+[a-z0-9]$`)

// longestName is that of a label's value.
const longestName = 63

// GroupName is the name of a node group in the chart. Names that the chart
// would refuse are an error.
func GroupName(group string) (string, error) {
	name := v1alpha1.Sanitise(group)
	if !groupName.MatchString(name) || len(name) > longestName {
		return "", fault.New("node group "+group, fmt.Errorf("%q cannot be used in Kubernetes names", name),
			"use 3 to 63 letters, digits or dashes, beginning with a letter")
	}
	return name, nil
}
