package takeover

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/controllers"
)

// settings are those of Slipway's controllers: of the values of Azimuth's, or of the
// takeover before.
type settings struct {
	Image       string         `json:"image,omitempty"`
	TrustBundle string         `json:"trustBundle,omitempty"`
	Replicas    int            `json:"replicas"`
	Values      map[string]any `json:"values,omitempty"`
}

func (s settings) options() controllers.Options {
	return controllers.Options{Image: s.Image, TrustBundle: s.TrustBundle, Replicas: s.Replicas, Values: s.Values}
}

// settings carries the values of the operators over, and notes each that is not the default.
func (c *Cluster) settings(ctx context.Context, o Options) (settings, error) {
	if c.record != nil {
		s := c.record.Settings
		if o.Image != "" {
			s.Image = o.Image
		}
		return s, nil
	}
	s := settings{Image: o.Image, Values: map[string]any{}}
	var err error
	if s.Replicas, err = c.replicas(ctx); err != nil {
		return s, err
	}
	for _, operator := range c.operators {
		if operator.release == nil || ours(operator.deployment) || operator.chartVersion() == "" {
			continue
		}
		values, err := chartutil.CoalesceValues(operator.release.Chart, operator.release.Config)
		if err != nil {
			c.problem("release "+operator.namespace+"/"+operator.name, "helm get values "+operator.name+" -n "+operator.namespace, "its values cannot be read: %v", err)
			continue
		}
		if operator.name == controllers.JanitorName {
			c.janitor(values, &s)
		} else {
			c.addonProvider(operator, values, &s)
		}
		c.placement(operator, values, &s)
	}
	return s, nil
}

// replicas are two where more than one node runs workloads.
func (c *Cluster) replicas(ctx context.Context) (int, error) {
	nodes, err := c.site.Kube.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("listing nodes: %w", err)
	}
	workers := 0
	for _, node := range nodes.Items {
		if _, plane := node.Labels["node-role.kubernetes.io/control-plane"]; !plane && !node.Spec.Unschedulable {
			workers++
		}
	}
	if workers > 1 {
		return 2, nil
	}
	return 1, nil
}

func (c *Cluster) carried(format string, args ...any) {
	c.Settings = append(c.Settings, fmt.Sprintf(format, args...))
}

// janitor carries over the values of cluster-api-janitor-openstack.
func (c *Cluster) janitor(values map[string]any, s *settings) {
	mine := map[string]any{}
	if policy, given := values["defaultVolumesPolicy"]; given && policy != "delete" {
		mine["defaultVolumesPolicy"] = "keep" // any other word kept volumes
		c.carried("janitor: defaultVolumesPolicy %v: volumes are kept", policy)
	}
	if delay, given := values["retryDefaultDelay"]; given && fmt.Sprint(delay) != "60" {
		mine["retryDelay"] = fmt.Sprint(delay) + "s"
		c.carried("janitor: retryDefaultDelay %v becomes the longest pause between two attempts", delay)
	}
	if len(mine) > 0 {
		s.Values["janitor"] = mine
	}
}

// addonProvider carries over the values of cluster-api-addon-provider.
func (c *Cluster) addonProvider(o *operator, values map[string]any, s *settings) {
	if bundle, _ := values["trustBundle"].(string); bundle != "" {
		s.TrustBundle = bundle
		c.carried("addon provider: trustBundle (%d certificates) is trusted by both controllers", strings.Count(bundle, "BEGIN CERTIFICATE"))
	}
	config, _ := values["config"].(map[string]any)
	args := []any{}
	for _, key := range sorted(config) {
		value := config[key]
		switch key {
		case "apiGroup", "annotationPrefix":
			c.named(o, key, value)
		case "temporaryErrorDelay":
			args = append(args, fmt.Sprintf("--addon-retry-delay=%vs", value))
			c.carried("addon provider: config.%s %v becomes the first pause before a retry", key, value)
		case "helmClient":
			client, _ := value.(map[string]any)
			args = append(args, c.helmClient(o, client)...)
		case "crdCategories", "easykubeFieldManager", "watchTimeout":
			c.carried("addon provider: config.%s has no counterpart, and needs none", key)
		default:
			c.problem("release "+o.namespace+"/"+o.name, "remove the setting with helm upgrade, if you can do without it", "Slipway does not know its setting config.%s", key)
		}
	}
	if len(args) > 0 {
		s.Values["addonProvider"] = map[string]any{"args": args}
	}
}

// named refuses another API group than the one that Slipway serves.
func (c *Cluster) named(o *operator, key string, value any) {
	if value != "addons.stackhpc.com" {
		c.problem("release "+o.namespace+"/"+o.name, "keep this one, and do not adopt the environment", "config.%s is %v: Slipway serves addons.stackhpc.com only", key, value)
	}
}

func (c *Cluster) helmClient(o *operator, config map[string]any) []any {
	var args []any
	for _, key := range sorted(config) {
		value := config[key]
		switch key {
		case "defaultTimeout":
			args = append(args, fmt.Sprintf("--addon-timeout=%s", duration(value)))
			c.carried("addon provider: config.helmClient.defaultTimeout %v", value)
		case "historyMaxRevisions":
			args = append(args, fmt.Sprintf("--addon-history=%v", value))
			c.carried("addon provider: config.helmClient.historyMaxRevisions %v", value)
		case "insecureSkipTlsVerify":
			if value == true {
				c.problem("release "+o.namespace+"/"+o.name, "give the authority of the chart repositories as trustBundle, and remove the setting with helm upgrade",
					"config.helmClient.insecureSkipTlsVerify is set: Slipway verifies the certificates of chart repositories")
			}
		default:
			c.carried("addon provider: config.helmClient.%s has no counterpart, and needs none", key)
		}
	}
	return args
}

// duration is one as Go writes it; a number is of seconds.
func duration(value any) string {
	text := fmt.Sprint(value)
	if strings.Trim(text, "0123456789") == "" {
		return text + "s"
	}
	return text
}

// placement carries over where the pods may run. Both operators of azimuth-ops have the same.
func (c *Cluster) placement(o *operator, values map[string]any, s *settings) {
	all := map[string]bool{"nodeSelector": true, "tolerations": true, "imagePullSecrets": true, "affinity": false, "resources": false, "podSecurityContext": false, "securityContext": false}
	for _, key := range sorted(all) {
		value, standard, same := values[key], o.release.Chart.Values[key], all[key]
		switch {
		case reflect.DeepEqual(value, standard) || empty(value):
		case !same:
			c.carried("%s: %s is Slipway's own", o.name, key)
		case key == "tolerations":
			list, _ := value.([]any)
			s.Values[key] = tolerations(s.Values[key], list)
			c.carried("%s: its tolerations are both controllers'", o.name)
		case s.Values[key] == nil:
			s.Values[key] = value
			c.carried("%s: its %s is both controllers'", o.name, key)
		case !reflect.DeepEqual(s.Values[key], value):
			c.problem("release "+o.namespace+"/"+o.name, "give both controllers the same with helm upgrade", "its %s is not that of the other controller; Slipway's controllers have one for both", key)
		}
	}
}

// tolerations are those of a list that are not there yet, after those of Slipway's chart.
func tolerations(there any, more []any) []any {
	all, _ := there.([]any)
	if all == nil {
		all = []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": string(corev1.TolerationOpExists), "effect": string(corev1.TaintEffectNoSchedule)}}
	}
	for _, one := range more {
		known := false
		for _, other := range all {
			known = known || reflect.DeepEqual(one, other)
		}
		if !known {
			all = append(all, one)
		}
	}
	return all
}

func empty(value any) bool {
	v := reflect.ValueOf(value)
	return value == nil || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0
}
