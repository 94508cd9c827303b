package driver

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/addonprovider/template"
	"github.com/slipway-sh/slipway/addons/addonprovider/values"
	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/kube"
)

// secretWord is in the credential that templates of addons can see.
const secretWord = "s3cr3t-of-the-credential"

// tenantTexts are what a tenant writes and the driver reads, each with how to
// write it.
func tenantTexts() map[string]func(*Input, string) {
	texts := map[string]func(*Input, string){
		"http_proxy":             func(in *Input, s string) { in.Cluster.Spec.Template.HTTPProxy = s },
		"https_proxy":            func(in *Input, s string) { in.Cluster.Spec.Template.HTTPSProxy = s },
		"insecure_registry":      func(in *Input, s string) { in.Cluster.Spec.Template.InsecureRegistry = s },
		"keypair":                func(in *Input, s string) { in.Cluster.Spec.Keypair = s },
		"name":                   func(in *Input, s string) { in.Cluster.Spec.Name = s },
		"name of a node group":   func(in *Input, s string) { in.Groups[1].Spec.Name = s },
		"flavor of a node group": func(in *Input, s string) { in.Groups[1].Spec.FlavorID = s },
		"docker_volume_type":     func(in *Input, s string) { in.Cluster.Spec.DockerVolumeSize = 5; label(in, "docker_volume_type", s) },
		"oidc_issuer_url":        func(in *Input, s string) { label(in, "oidc_client_id", "id"); label(in, "oidc_issuer_url", s) },
		"oidc_groups_claim": func(in *Input, s string) {
			label(in, "oidc_issuer_url", "https://x")
			label(in, "oidc_groups_claim", s)
			label(in, "oidc_client_id", s)
		},
		"no_proxy": func(in *Input, s string) {
			in.Cluster.Spec.Template.HTTPProxy = "http://p"
			in.Cluster.Spec.Template.NoProxy = s
		},
		"etcd_volume_type": func(in *Input, s string) { label(in, "etcd_volume_size", "5"); label(in, "etcd_volume_type", s) },
		"boot_volume_type": func(in *Input, s string) { label(in, "boot_volume_size", "5"); label(in, "boot_volume_type", s) },
		"etcd_blockdevice_type": func(in *Input, s string) {
			label(in, "etcd_blockdevice_size", "5")
			label(in, "etcd_blockdevice_type", s)
		},
		"cilium_ipv4pool": func(in *Input, s string) {
			in.Cluster.Spec.Template.NetworkDriver = "cilium"
			label(in, "cilium_ipv4pool", s)
		},
		"labels of a node group": func(in *Input, s string) {
			in.Groups[1].Spec.Labels = map[string]string{"availability_zone": s, "boot_volume_size": "7", "boot_volume_type": s, "server_group_policies": s}
		},
		"an unknown label":          func(in *Input, s string) { label(in, s, s) },
		"volume types of the cloud": func(in *Input, s string) { in.Cluster.Spec.Resolved.VolumeTypes = []string{"a", s} },
	}
	for _, name := range strings.Fields(`admission_control_list api_master_lb_allowed_cidrs api_server_floating_ip api_server_lb_availability_zone api_server_lb_flavor
		api_server_cert_sans api_server_tls_cipher_suites audit_log_enabled audit_log_max_age auto_healing_enabled availability_zone calico_ipv4pool
		container_infra_prefix control_plane_availability_zones csi_cinder_availability_zone csi_cinder_fstype csi_cinder_reclaim_policy
		csi_cinder_volume_binding_mode dns_cluster_domain extra_network_name extra_network_names fixed_subnet_cidr kube_tag kubelet_tls_cipher_suites
		octavia_lb_algorithm octavia_provider server_group_policies service_cluster_ip_range master_lb_floating_ip_enabled`) {
		texts[name] = func(in *Input, s string) { label(in, name, s) }
	}
	return texts
}

func label(in *Input, name, value string) {
	if in.Cluster.Spec.Labels == nil {
		in.Cluster.Spec.Labels = map[string]string{}
	}
	in.Cluster.Spec.Labels[name] = value
}

// attempts are texts that would be more than text where they are pasted.
func attempts() map[string]string {
	return map[string]string{
		"a document":   "ok\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: pwned}\n",
		"a key":        "ok\npwned: true",
		"a file":       "ok/hosts.toml\n    content: pwned\n  - path: /etc/pwned\n    contentFrom: {secret: {name: pwned, key: pwned}}\n  - path: /etc/x",
		"a quote":      "ok\"\npwned: \"true",
		"flow":         "ok, pwned: {a: b}",
		"a colon":      "ok: {pwned: true}",
		"a command":    "ok'; touch /pwned; '$(touch /pwned)`touch /pwned`\ntouch /pwned",
		"Jinja":        "ok{{ cloud_identity.data['clouds.yaml'] | b64decode }}{% for k in cloud_identity.data.items() %}{{ k }}{% endfor %}",
		"raw Jinja":    "ok{% raw %}{% endraw %}{{ cloud_identity.data['clouds.yaml'] | b64decode }}",
		"end of raw":   "ok{% endraw %}{{ cloud_identity.data['clouds.yaml'] | b64decode }}{% raw %}",
		"a chart":      `ok{{ lookup "v1" "Secret" "kube-system" "" }}{{ .Values | toJson }}`,
		"out of paths": "../../../../etc/pwned",
	}
}

// harmlessShape is the shape of the first ordinary text that the field takes: any
// word, a network, or one of the words that the chart's schema lists.
func harmlessShape(t *testing.T, write func(*Input, string)) (shape string, err error) {
	for _, text := range []string{"ok", "10.9.0.0/16", "group-a", "Delete", "Immediate", "soft-affinity"} {
		if shape, err = shapeOf(t, write, text); err == nil {
			break
		}
	}
	return shape, err
}

// proves that nothing a tenant writes is more than text for the management
// cluster, for the addon provider and in the files of machines: whatever it is,
// the objects, their fields, the commands and the files are those that harmless
// text makes, or it is refused.
func TestTenantsTextStaysText(t *testing.T) {
	t.Parallel()
	rendered := 0
	for field, write := range tenantTexts() {
		harmless, err := harmlessShape(t, write)
		if err != nil {
			t.Errorf("%s: harmless text is refused: %v", field, err)
			continue
		}
		for attempt, text := range attempts() {
			got, err := shapeOf(t, write, text)
			if err != nil {
				continue // refused is fine
			}
			rendered++
			if got != harmless {
				t.Errorf("%s, %s: not as with harmless text\n%s", field, attempt, firstDifference(harmless, got))
			}
		}
	}
	if rendered < 100 {
		t.Errorf("only %d attempts came as far as the chart", rendered)
	}
}

// shapeOf renders the cluster with a tenant's text and returns what it is made
// of without the texts in it.
func shapeOf(t *testing.T, write func(*Input, string), text string) (string, error) {
	t.Helper()
	in := input()
	write(&in, text)
	out, err := Values(in)
	if err != nil {
		return "", err
	}
	manifest, err := openstackcluster.Render(openstackcluster.Release{Name: in.Cluster.Stack(), Values: out.Values})
	if err != nil {
		return "", err
	}
	objects, err := kube.Decode(strings.NewReader(manifest))
	if err != nil {
		t.Errorf("%q makes a manifest that cannot be read: %v", text, err)
		return "", err
	}
	var lines []string
	for _, o := range objects {
		name := o.GetKind()
		shape(&lines, name, o.Object)
		for place, source := range sources(o) {
			rendered, err := template.Render(t.Context(), source, providerSees())
			if err != nil {
				return "", fmt.Errorf("%s, %s: %w", name, place, err)
			}
			documents, err := values.ParseAll(rendered)
			if err != nil {
				return "", fmt.Errorf("%s, %s: %w", name, place, err)
			}
			lines = append(lines, fmt.Sprintf("%s %s: %d documents, %d secrets", name, place, len(documents), strings.Count(rendered, secretWord)))
			for _, d := range documents {
				shape(&lines, name+" "+place, values.Plain(d))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n"), nil
}

// sources are the texts of an object that the addon provider renders.
func sources(o *unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	switch o.GetKind() {
	case "Secret":
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		for key, packed := range data {
			if text, err := base64.StdEncoding.DecodeString(packed); err == nil {
				all[key] = string(text)
			}
		}
	case "Manifests":
		list, _, _ := unstructured.NestedSlice(o.Object, "spec", "manifestSources")
		for i, one := range list {
			if text, ok := one.(map[string]any)["template"].(string); ok {
				all[fmt.Sprintf("template %d", i)] = text
			}
		}
	}
	return all
}

// providerSees are the variables of the addon provider's templates.
func providerSees() map[string]any {
	clouds := "clouds: {openstack: {auth: {auth_url: 'https://keystone.example', application_credential_secret: " + secretWord + "}}}\n"
	return map[string]any{
		"addon":          values.Of(map[string]any{"metadata": map[string]any{"name": "a"}}),
		"cluster":        values.Of(map[string]any{"spec": map[string]any{"controlPlaneEndpoint": map[string]any{"host": "192.0.2.7", "port": int64(6443)}}}),
		"infra_cluster":  values.Of(map[string]any{"status": map[string]any{"network": map[string]any{"name": "n"}, "externalNetwork": map[string]any{"id": "e"}}}),
		"cloud_identity": values.Of(map[string]any{"data": map[string]any{"clouds.yaml": base64.StdEncoding.EncodeToString([]byte(clouds))}}),
	}
}

// shape lists the fields of an object and, where text is run or names a file,
// that text with the tenant's place holder: all else that is text is left out.
func shape(lines *[]string, at string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch text, isText := v[key].(string); {
			case isText && key == "path":
				*lines = append(*lines, fmt.Sprintf("%s/path of %d parts, lines %d, up %v", at, strings.Count(text, "/"), strings.Count(text, "\n"), strings.Contains(text, "..")))
			case key == "kind" || key == "apiVersion":
				*lines = append(*lines, fmt.Sprintf("%s/%s = %v", at, key, v[key]))
			}
			shape(lines, at+"/"+key, v[key])
		}
	case []any:
		if strings.HasSuffix(at, "Commands") {
			*lines = append(*lines, fmt.Sprintf("%s = %q", at, v))
		}
		for _, one := range v {
			shape(lines, at+"[]", one)
		}
	default:
		*lines = append(*lines, at)
	}
}

func firstDifference(want, got string) string {
	have := strings.Split(want, "\n")
	var text []string
	for _, line := range strings.Split(got, "\n") {
		if !slices.Contains(have, line) {
			text = append(text, "+ "+line)
		}
	}
	for _, line := range have {
		if !slices.Contains(strings.Split(got, "\n"), line) {
			text = append(text, "- "+line)
		}
	}
	return strings.Join(text[:min(len(text), 12)], "\n")
}
