package takeover

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestSettings are carried over from the values of the operators; what has no counterpart is told, and
// what Slipway cannot do is refused.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider, janitor string // values
		want              string // settings
		carried, refused  []string
	}{
		"none":                  {"{}", "{}", "{}", nil, nil},
		"defaults, spelled out": {"{config: {}, trustBundle: ''}", "{defaultVolumesPolicy: delete, retryDefaultDelay: 60}", "{}", nil, nil},
		"volumes": {"{}", "{defaultVolumesPolicy: never}", "{values: {janitor: {defaultVolumesPolicy: keep}}}",
			[]string{"janitor: defaultVolumesPolicy never: volumes are kept"}, nil},
		"delay": {"{}", "{retryDefaultDelay: 90}", "{values: {janitor: {retryDelay: 90s}}}",
			[]string{"janitor: retryDefaultDelay 90 becomes the longest pause between two attempts"}, nil},
		"trust": {"{trustBundle: BEGIN CERTIFICATE BEGIN CERTIFICATE}", "{}", "{trustBundle: BEGIN CERTIFICATE BEGIN CERTIFICATE}",
			[]string{"addon provider: trustBundle (2 certificates) is trusted by both controllers"}, nil},
		"the same group": {"{config: {apiGroup: addons.stackhpc.com, annotationPrefix: addons.stackhpc.com}}", "{}", "{}", nil, nil},
		"another group": {"{config: {apiGroup: mine.example}}", "{}", "{}", nil,
			[]string{"release capi-addon-system/cluster-api-addon-provider: config.apiGroup is mine.example: Slipway serves addons.stackhpc.com only"}},
		"pauses": {"{config: {temporaryErrorDelay: 15, watchTimeout: 600}}", "{}", "{values: {addonProvider: {args: [--addon-retry-delay=15s]}}}",
			[]string{"addon provider: config.temporaryErrorDelay 15 becomes the first pause before a retry", "addon provider: config.watchTimeout has no counterpart, and needs none"}, nil},
		"Helm's": {"{config: {helmClient: {defaultTimeout: 30, historyMaxRevisions: 5, executable: helm3, insecureSkipTlsVerify: false}}}", "{}",
			"{values: {addonProvider: {args: [--addon-timeout=30s, --addon-history=5]}}}", []string{"addon provider: config.helmClient.defaultTimeout 30",
				"addon provider: config.helmClient.executable has no counterpart, and needs none", "addon provider: config.helmClient.historyMaxRevisions 5"}, nil},
		"a duration": {"{config: {helmClient: {defaultTimeout: 1h}}}", "{}", "{values: {addonProvider: {args: [--addon-timeout=1h]}}}",
			[]string{"addon provider: config.helmClient.defaultTimeout 1h"}, nil},
		"insecure": {"{config: {helmClient: {insecureSkipTlsVerify: true}}}", "{}", "{}", nil,
			[]string{"release capi-addon-system/cluster-api-addon-provider: config.helmClient.insecureSkipTlsVerify is set: Slipway verifies the certificates of chart repositories"}},
		"unknown":            {"{config: {colour: red}}", "{}", "{}", nil, []string{"release capi-addon-system/cluster-api-addon-provider: Slipway does not know its setting config.colour"}},
		"one place for both": {"{nodeSelector: {a: b}}", "{nodeSelector: {a: b}}", "{values: {nodeSelector: {a: b}}}", []string{"cluster-api-addon-provider: its nodeSelector is both controllers'"}, nil},
		"a place for one":    {"{}", "{nodeSelector: {a: b}}", "{values: {nodeSelector: {a: b}}}", []string{"cluster-api-janitor-openstack: its nodeSelector is both controllers'"}, nil},
		"two places": {"{nodeSelector: {a: b}}", "{nodeSelector: {a: c}}", "{values: {nodeSelector: {a: b}}}", []string{"cluster-api-addon-provider: its nodeSelector is both controllers'"},
			[]string{"release capi-janitor-system/cluster-api-janitor-openstack: its nodeSelector is not that of the other controller; Slipway's controllers have one for both"}},
		"tolerations": {"{tolerations: [{key: a}, {key: b}]}", "{tolerations: [{key: b}, {key: c}]}",
			"{values: {tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}, {key: a}, {key: b}, {key: c}]}}",
			[]string{"cluster-api-addon-provider: its tolerations are both controllers'", "cluster-api-janitor-openstack: its tolerations are both controllers'"}, nil},
		"Slipway's own": {"{resources: {limits: {cpu: 1}}, affinity: {a: b}}", "{}", "{}",
			[]string{"cluster-api-addon-provider: affinity is Slipway's own", "cluster-api-addon-provider: resources is Slipway's own"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bare(t)
			c := &Cluster{site: w.site, operators: operators()}
			for i, text := range []string{test.provider, test.janitor} {
				c.operators[i].release = w.install(w.chart(c.operators[i].name), plain(t, text))
			}
			got, err := c.settings(t.Context(), Options{})
			w.must(err)
			want := settings{Replicas: 1}
			w.must(yaml.Unmarshal([]byte(test.want), &want))
			if want.Values == nil {
				want.Values = map[string]any{}
			}
			if diff := cmp.Diff(plainly(t, want), plainly(t, got)); diff != "" {
				t.Error(diff)
			}
			if !slices.Equal(c.Settings, test.carried) {
				t.Errorf("carried over %q\nwant %q", c.Settings, test.carried)
			}
			var refused []string
			for _, one := range c.Problems {
				refused = append(refused, one.Object+": "+one.What)
			}
			if !slices.Equal(refused, test.refused) {
				t.Errorf("refused %q\nwant %q", refused, test.refused)
			}
		})
	}
}

func plain(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func plainly(t *testing.T, of settings) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return plain(t, string(text))
}

// TestReplicas are two where two nodes run workloads.
func TestReplicas(t *testing.T) {
	t.Parallel()
	const worker, plane, cordoned = `{}`, `{metadata: {labels: {node-role.kubernetes.io/control-plane: ""}}}`, `{spec: {unschedulable: true}}`
	for name, test := range map[string]struct {
		nodes []string
		want  int
	}{
		"none": {nil, 1}, "one": {[]string{worker, plane}, 1}, "two": {[]string{worker, worker}, 2}, "two of the control plane": {[]string{plane, plane, worker}, 1},
		"one is cordoned": {[]string{worker, cordoned}, 1}, "three": {[]string{worker, worker, worker, cordoned}, 2},
	} {
		w := bare(t)
		for i, node := range test.nodes {
			w.put("Node", "v1", "", string(rune('a'+i)), node)
		}
		if got, err := (&Cluster{site: w.site}).replicas(t.Context()); got != test.want || err != nil {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

// TestSettingsOfBefore count in a takeover that goes on, but for another image.
func TestSettingsOfBefore(t *testing.T) {
	t.Parallel()
	c := &Cluster{record: &record{Settings: settings{Image: "a", Replicas: 2}}}
	for given, want := range map[string]string{"": "a", "b": "b"} {
		if got, err := c.settings(t.Context(), Options{Image: given}); got.Image != want || got.Replicas != 2 || err != nil {
			t.Errorf("%q: %+v, %v", given, got, err)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for image, want := range map[string][2]string{"a": {"a", ""}, "a:1": {"a", "1"}, "r:5000/x/a:1": {"a", "1"}, "r:5000/x/a": {"a", ""}, "x/a:1@sha256:00": {"a", "1"}, "x/a@sha256:00": {"a", ""}} {
		if got := [2]string{program(image), tag(image)}; got != want {
			t.Errorf("%s: %q", image, got)
		}
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value any
		want  string
	}{{nil, "not set"}, {5, "5"}, {strings.Repeat("ä", 60), strings.Repeat("ä", 60)}, {strings.Repeat("ä", 61), strings.Repeat("ä", 60) + "…"}} {
		if got := brief(test.value); got != test.want {
			t.Errorf("%v: %q", test.value, got)
		}
	}
}

// TestQuantities are one in any spelling; what is no quantity is none.
func TestQuantities(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b any
		want bool
	}{{"1000m", int64(1), true}, {"1Gi", "1024Mi", true}, {"1", "2", false}, {"1", "none", false}, {"none", "1", false}, {"none", "none", false}, {nil, "0", false}} {
		if got := quantities(test.a, test.b); got != test.want {
			t.Errorf("%v and %v: %v", test.a, test.b, got)
		}
	}
}

// TestMoved: what is new is somebody else's, what changed or went is told in order.
func TestMoved(t *testing.T) {
	t.Parallel()
	before := map[string]mark{"1": {"Machine c", 1}, "2": {"Machine b", 1}, "3": {"Machine a", 1}}
	after := map[string]mark{"1": {"Machine c", 2}, "3": {"Machine a", 1}, "4": {"Machine d", 1}}
	if got := moved(before, after); !slices.Equal(got, []string{"Machine b is gone", "Machine c was changed"}) {
		t.Errorf("%q", got)
	}
}

// TestSecretsAreNotShown where an object differs.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	w := bare(t)
	w.put("Secret", "v1", "default", "a", `{data: {k: aHVzaA==}}`)
	w.put("Secret", "v1", "default", "b", `{data: {k: bW9yZQ==}}`)
	item := (&Cluster{}).item(w.get("secrets default/a"), w.get("secrets default/b"))
	if len(item.Differences) != 1 || item.Differences[0] != (Difference{"data.k", "another value", "another value"}) || item.Verdict != Change {
		t.Errorf("%+v", item)
	}
	w.put("Secret", "v1", "default", "b", `{}`)
	item = (&Cluster{}).item(w.get("secrets default/a"), w.get("secrets default/b"))
	if len(item.Differences) != 1 || item.Differences[0].Has != nil {
		t.Errorf("%+v", item)
	}
}
