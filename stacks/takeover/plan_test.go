package takeover

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// seed is a seed with management clusters, by namespace and name.
func seed(t *testing.T, clusters ...string) *world {
	t.Helper()
	w := bare(t)
	w.open(Seed)
	for _, one := range clusters {
		namespace, name, _ := strings.Cut(one, "/")
		w.put("Cluster", "cluster.x-k8s.io/v1beta2", namespace, name, `{}`)
	}
	return w
}

// TestWhichManagementCluster is the only one of the seed, or the one that is named.
func TestWhichManagementCluster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		clusters []string
		named    string
		want     string // the environment
		refused  string // by a problem of the seed
		failed   string // as an error of usage
	}{
		"one":                              {[]string{"a/prod"}, "", "prod", "", ""},
		"named":                            {[]string{"a/prod", "b/test"}, "test", "test", "", ""},
		"two":                              {[]string{"a/prod", "b/test"}, "", "", "", "seed: it has 2 management clusters: a/prod, b/test"},
		"none":                             {nil, "", "", "", "seed: it has no Cluster of Cluster API"},
		"another":                          {[]string{"a/prod"}, "test", "", "", "environment test: the seed has no Cluster of this name"},
		"two in one namespace":             {[]string{"a/prod", "a/test"}, "prod", "prod", "namespace a: 2 management clusters are in it: prod, test", ""},
		"two in one namespace, none named": {[]string{"a/prod", "a/test"}, "", "", "namespace a: 2 management clusters are in it: prod, test", ""},
		"two of one name":                  {[]string{"a/prod", "b/prod"}, "prod", "", "", "environment prod: the seed has no Cluster of this name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := seed(t, test.clusters...)
			p, err := Look(t.Context(), []Site{w.site}, Options{Environment: test.named})
			if test.failed != "" {
				if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), test.failed) || fault.Remedy(err) == "" {
					t.Errorf("%v", err)
				}
				return
			}
			w.must(err)
			var refused []string
			for _, one := range p.Clusters[0].Problems {
				refused = append(refused, one.Object+": "+one.What)
			}
			if strings.Join(refused, "\n") != test.refused {
				t.Errorf("refused %q", refused)
			}
			if test.want == "" {
				if p.Release != nil {
					t.Errorf("%+v", p.Release)
				}
				return
			}
			if p.Environment != test.want || p.Release == nil || p.Release.Name != test.want || p.Release.Verdict == adopt.Adopt {
				t.Errorf("%s, %+v", p.Environment, p.Release)
			}
			if values, err := p.Values(); values != nil || err != nil {
				t.Errorf("values of a cluster without a release: %v, %v", values, err)
			}
		})
	}
}

// TestAnotherEnvironment than the one that it was adopted as is refused, with both names.
func TestAnotherEnvironment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ adopted, named, want string }{
		{"prod", "test", "management cluster: environment test: the cluster was adopted as environment prod"}, {"prod", "prod", ""}, {"prod", "", ""}, {"", "test", ""},
	} {
		w := azimuth(t)
		c := w.look(Options{Image: image}).Clusters[0]
		w.must(c.keep(t.Context(), test.adopted))
		err := w.look(Options{Environment: test.named}).Refused()
		if (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
			t.Errorf("%q as %q: %v", test.adopted, test.named, err)
		}
	}
}

// memory are releases.
type memory struct {
	last *helmrelease.Release
	err  error
}

func (m memory) Last(string, string) (*helmrelease.Release, error)  { return m.last, m.err }
func (m memory) TakeOver(*helmrelease.Release, helm.Takeover) error { return errors.ErrUnsupported }
func (m memory) Settle(*helmrelease.Release) error                  { return errors.ErrUnsupported }
func (m memory) GiveBack(*helmrelease.Release) error                { return errors.ErrUnsupported }

// TestValuesOfTheRelease are without credentials and without what only an adoption keeps.
func TestValuesOfTheRelease(t *testing.T) {
	t.Parallel()
	config := map[string]any{"clouds": "hush", "adopted": "x", "kubernetesVersion": "1.33.5"}
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		verdict  adopt.Verdict
		releases memory
		want     map[string]any
		err      error
	}{
		"adopted before":      {adopt.Ours, memory{&helmrelease.Release{Config: config}, nil}, map[string]any{"kubernetesVersion": "1.33.5"}, nil},
		"adopted, gone since": {adopt.Ours, memory{}, nil, nil},
		"adopted, unreadable": {adopt.Ours, memory{nil, broken}, nil, broken},
		"refused":             {adopt.Refuse, memory{&helmrelease.Release{Config: config}, nil}, nil, nil},
		"as it is":            {adopt.AsItIs, memory{&helmrelease.Release{Config: config}, nil}, nil, nil},
		"to be adopted":       {adopt.Adopt, memory{&helmrelease.Release{Config: config}, nil}, map[string]any{}, nil},
	} {
		p := &Plan{Release: &adopt.Cluster{Verdict: test.verdict}, seed: &Cluster{site: Site{Clusters: adopt.Site{Releases: test.releases}}}}
		got, err := p.Values()
		if !errors.Is(err, test.err) || !cmp.Equal(got, test.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if config["clouds"] == nil {
		t.Error("the release itself was changed")
	}
	if got, err := (&Plan{}).Values(); got != nil || err != nil {
		t.Errorf("without a release: %v, %v", got, err)
	}
}

// TestRefusedAll tells the problems of the environment, of its clusters and of the release in one error.
func TestRefusedAll(t *testing.T) {
	t.Parallel()
	p := &Plan{}
	if err := p.Refused(); err != nil {
		t.Error(err)
	}
	p = &Plan{Problems: []Problem{{"environment x", "a", "b"}}, Clusters: []*Cluster{{Role: Seed, Problems: []Problem{{"Machine m", "c", "d"}}}},
		Release: &adopt.Cluster{Namespace: "n", Name: "r", Problems: []adopt.Problem{{What: "e", Remedy: "f"}}}}
	err := p.Refused()
	if fault.ExitCode(err) != fault.ExitPreflight || err.Error() != "environment x: a\nseed: Machine m: c\ncluster n/r: e" {
		t.Error(err)
	}
}

// TestTheChild is the management cluster whose kubeconfig Cluster API keeps on its seed.
func TestTheChild(t *testing.T) {
	t.Parallel()
	const kubeconfig = `{contexts: [{name: c, context: {cluster: c, user: u}}], current-context: c, clusters: [{name: c, cluster: {server: "https://10.0.0.5:6443"}}], users: [{name: u, user: {%s}}]}`
	for name, test := range map[string]struct {
		clusters          []string
		named, kubeconfig string
		want, failed      string
	}{
		"one":           {[]string{"a/prod"}, "", strings.ReplaceAll(kubeconfig, "%s", "token: t"), "https://10.0.0.5:6443", ""},
		"named":         {[]string{"b/test", "a/prod", "c/other"}, "prod", strings.ReplaceAll(kubeconfig, "%s", "token: t"), "https://10.0.0.5:6443", ""},
		"not clear":     {[]string{"a/prod", "b/test"}, "", "", "", ""},
		"none":          {nil, "", "", "", ""},
		"no kubeconfig": {[]string{"a/prod"}, "", "", "", "Secret a/prod-kubeconfig: refused: NotFound"},
		"unreadable":    {[]string{"a/prod"}, "", "hush: [", "", "Secret a/prod-kubeconfig: it has no kubeconfig that can be read"},
		"a program":     {[]string{"a/prod"}, "", strings.ReplaceAll(kubeconfig, "%s", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}"), "", "the kubeconfig of cluster prod runs a program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := seed(t, test.clusters...)
			if test.kubeconfig != "" {
				w.put("Secret", "v1", "a", "prod-kubeconfig", "{data: {value: "+base64.StdEncoding.EncodeToString([]byte(test.kubeconfig))+"}}")
			}
			config, err := w.site.Child(t.Context(), test.named)
			switch {
			case test.failed != "":
				if err == nil || !strings.Contains(err.Error(), test.failed) || strings.Contains(err.Error(), "hush") {
					t.Error(err)
				}
			case err != nil, (config == nil) != (test.want == ""), config != nil && config.Host != test.want:
				t.Errorf("%v, %v", config, err)
			}
		})
	}
}

// TestAServerThatRefuses is named, with what was asked.
func TestAServerThatRefuses(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]string{
		"/secrets/" + recordName:                   "management cluster: reading Secret slipway-adopted-environment",
		"/selfsubjectaccessreviews":                "management cluster: asking for rights",
		"/nodes":                                   "management cluster: listing nodes",
		"/apis/apps/v1/deployments":                "management cluster: listing Deployments",
		"/cluster.x-k8s.io/v1beta2/machines":       "management cluster: listing objects of kind Machine",
		"/addons.stackhpc.com/v1alpha1/manifests":  "management cluster: listing objects of kind Manifests",
		"/clusterroles/cluster-api-addon-provider": "management cluster: reading ClusterRole cluster-api-addon-provider",
		"/capo-system/deployments/":                "management cluster: reading Deployment capo-system/capo-controller-manager",
		"/api/v1/secrets":                          "management cluster: listing releases",
	} {
		w := azimuth(t)
		w.server.Refuse = func(r *http.Request) (int, string) {
			if strings.Contains(r.URL.Path, what) {
				return http.StatusForbidden, "Forbidden"
			}
			return 0, ""
		}
		_, err := Look(t.Context(), []Site{w.site}, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "refused: Forbidden") || fault.Remedy(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
