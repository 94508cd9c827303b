package adopting

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/stacks/takeover"
)

// TestEnvironment is on one API server, which is a management cluster of azimuth-ops again
// and again.
func TestEnvironment(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	s := azimuth(t, "prod")
	for _, part := range []struct {
		name string
		test func(*site)
	}{{"Refused", refused}, {"Rights", withoutRights}, {"TakenAndGivenBack", takenAndGivenBack}, {"Killed", killed}} {
		t.Run(part.name, func(t *testing.T) { part.test(&site{t, s.config, s.client, s.kubeconfig}) })
	}
}

// look is the plan for a management cluster.
func (s *site) look(config *rest.Config, options takeover.Options) *takeover.Plan {
	s.t.Helper()
	on, err := takeover.Open(takeover.Management, config)
	must(s.t, err)
	plan, err := takeover.Look(s.t.Context(), []takeover.Site{on}, options)
	must(s.t, err)
	return plan
}

func silent(string) {}

// takenAndGivenBack: the operators end, Slipway's controllers begin with their settings, no
// object of Cluster API and no addon is written, Helm has no say any more; and all is as it
// was after it is given back.
func takenAndGivenBack(s *site) {
	machinery, before := s.versions("default"), s.everything()
	plan := s.look(s.config, takeover.Options{Image: "registry.example/slipway:v9"})
	must(s.t, plan.Refused())
	if diff := cmp.Diff(before, s.everything()); diff != "" {
		s.t.Errorf("a plan wrote: %s", diff)
	}
	s.planTells(plan)
	changed, err := plan.Take(s.t.Context(), silent)
	if err != nil || !changed {
		s.t.Fatal(changed, err)
	}
	if diff := cmp.Diff(machinery, s.versions("default")); diff != "" {
		s.t.Errorf("somebody wrote: %s", diff)
	}
	s.runs()
	s.helmIsOut()
	again := s.look(s.config, takeover.Options{})
	must(s.t, again.Refused())
	if changed, err := again.Take(s.t.Context(), silent); changed || err != nil || again.Clusters[0].State != takeover.Done {
		s.t.Errorf("a second run: %v %v %s", changed, err, again.Clusters[0].State)
	}
	s.givesBack(before)
	if diff := cmp.Diff(machinery, s.versions("default")); diff != "" {
		s.t.Errorf("giving back wrote: %s", diff)
	}
}

// planTells looks at what the plan says of some objects.
func (s *site) planTells(plan *takeover.Plan) {
	s.t.Helper()
	c := plan.Clusters[0]
	for object, want := range map[string]takeover.Verdict{
		"Deployment capi-addon-system/cluster-api-addon-provider":          takeover.Replace,
		"Deployment capi-janitor-system/cluster-api-janitor-openstack":     takeover.Replace,
		"ClusterRole cluster-api-addon-provider":                           takeover.Change,
		"Namespace capi-addon-system":                                      takeover.Change,
		"CustomResourceDefinition helmreleases.addons.stackhpc.com":        takeover.Change,
		"PodDisruptionBudget capi-addon-system/cluster-api-addon-provider": takeover.Create,
		"HelmRelease default/prod-cni":                                     takeover.Keep,
		"ConfigMap capi-addon-system/cluster-api-addon-provider":           takeover.Leave,
		"Deployment capo-system/capo-controller-manager":                   takeover.Leave,
		"release default/prod":                                             takeover.Leave,
	} {
		i := slices.IndexFunc(c.Items, func(item takeover.Item) bool { return item.Object == object })
		if i < 0 || c.Items[i].Verdict != want || want == takeover.Change && len(c.Items[i].Differences) == 0 || want == takeover.Replace && c.Items[i].Version != "0.12.1" ||
			strings.Contains(object, "capo-") && c.Items[i].Version != "v0.14.7" {
			s.t.Errorf("%s: %d, want %s; %+v", object, i, want, c.Items)
		}
	}
	if c.Untouched["Machine"] != 6 || c.Untouched["KubeadmControlPlane"] != 1 || plan.Rolls != 0 {
		s.t.Errorf("%v, %d roll", c.Untouched, plan.Rolls)
	}
	text := strings.Join(c.Settings, "\n")
	for _, want := range []string{"trustBundle (1 certificates)", "defaultVolumesPolicy keep", "defaultTimeout 5m"} {
		if !strings.Contains(text, want) {
			s.t.Errorf("%q is not told:\n%s", want, text)
		}
	}
}

// runs looks at Slipway's controllers.
func (s *site) runs() {
	s.t.Helper()
	for _, name := range [][]string{{"capi-addon-system", "cluster-api-addon-provider"}, {"capi-janitor-system", "cluster-api-janitor-openstack"}} {
		d := s.get("Deployment", name[0], name[1])
		containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
		container := containers[0].(map[string]any)
		text := strings.Join(strings.Fields(strings.Trim(strings.ReplaceAll(spell(container["args"]), ",", " "), "[]")), " ")
		if container["image"] != "registry.example/slipway:v9" || len(containers) != 1 || d.GetLabels()["app.kubernetes.io/part-of"] != "slipway" {
			s.t.Errorf("%s runs %v", name, container["image"])
		}
		for _, want := range map[string][]string{"capi-addon-system": {"--only=addon-provider", "--addon-timeout=5m"}, "capi-janitor-system": {"--only=janitor", "--janitor-default-volumes-policy=keep"}}[name[0]] {
			if !strings.Contains(text, want) {
				s.t.Errorf("%s has no %s: %s", name, want, text)
			}
		}
		trust := &corev1.ConfigMap{}
		if err := s.client.Get(s.t.Context(), client.ObjectKey{Namespace: name[0], Name: name[1] + "-trust"}, trust); err != nil || !strings.Contains(trust.Data["ca.crt"], "BEGIN CERTIFICATE") {
			s.t.Errorf("%s trusts %v %v", name, trust.Data, err)
		}
	}
	if all := s.list(capi("HelmRelease"), "default"); !slices.ContainsFunc(all, func(o unstructured.Unstructured) bool {
		return o.GetAnnotations()["addons.stackhpc.com/last-handled-configuration"] != ""
	}) {
		s.t.Error("an addon lost an annotation")
	}
}

// helmIsOut: a playbook that runs again cannot put the operators beside Slipway's.
func (s *site) helmIsOut() {
	s.t.Helper()
	h, err := helm.New(s.config, "capi-addon-system", slog.New(slog.DiscardHandler))
	must(s.t, err)
	if last, err := h.Last("cluster-api-addon-provider"); last != nil || err != nil {
		s.t.Errorf("Helm still has a release: %v %v", last, err)
	}
	settings := cli.New()
	settings.SetNamespace("capi-addon-system")
	settings.KubeConfig = s.file("kubeconfig", s.kubeconfig)
	configuration := &action.Configuration{}
	must(s.t, configuration.Init(settings.RESTClientGetter(), "capi-addon-system", "secret", func(string, ...any) {}))
	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace = "cluster-api-addon-provider", "capi-addon-system"
	if _, err := install.Run(operatorChart(s.t, "cluster-api-addon-provider"), nil); err == nil || !strings.Contains(err.Error(), "invalid ownership metadata") {
		s.t.Errorf("helm install over Slipway's: %v", err)
	}
}

// givesBack brings back what was there, and compares all of it.
func (s *site) givesBack(before map[string]any) {
	s.t.Helper()
	on, err := takeover.Open(takeover.Management, s.config)
	must(s.t, err)
	must(s.t, takeover.HandBack(s.t.Context(), []takeover.Site{on}, silent))
	if diff := cmp.Diff(before, s.everything()); diff != "" {
		s.t.Errorf("not as before: %s", diff)
	}
	if err := takeover.HandBack(s.t.Context(), []takeover.Site{on}, silent); err == nil || fault.ExitCode(err) != fault.ExitUsage {
		s.t.Errorf("given back twice: %v", err)
	}
	for name, namespace := range map[string]string{"cluster-api-addon-provider": "capi-addon-system", "cluster-api-janitor-openstack": "capi-janitor-system"} {
		h, err := helm.New(s.config, namespace, slog.New(slog.DiscardHandler))
		must(s.t, err)
		last, err := h.Last(name)
		must(s.t, err)
		_, changed, err := h.Ensure(s.t.Context(), helm.Wanted{Name: name, Chart: last.Chart, Values: last.Config, Timeout: time.Minute})
		if err != nil || changed {
			s.t.Errorf("release %s: changed %v, %v", name, changed, err)
		}
	}
}

// killed ends the command a write later each time, until it gets through, in both
// directions. Without SLIPWAY_PROOFS it is only some of the writes.
func killed(s *site) {
	machinery, before := s.versions("default"), s.everything()
	runs := s.untilThrough(func(ctx context.Context, on takeover.Site) error {
		plan, err := takeover.Look(ctx, []takeover.Site{on}, takeover.Options{Image: "registry.example/slipway:v9"})
		if err != nil {
			return err
		}
		if err := plan.Refused(); err != nil {
			s.t.Fatalf("it does not go on: %v", err)
		}
		_, err = plan.Take(ctx, silent)
		return err
	})
	s.runs()
	if diff := cmp.Diff(machinery, s.versions("default")); diff != "" {
		s.t.Errorf("somebody wrote: %s", diff)
	}
	back := s.untilThrough(func(ctx context.Context, on takeover.Site) error {
		return takeover.HandBack(ctx, []takeover.Site{on}, silent)
	})
	if diff := cmp.Diff(before, s.everything()); diff != "" {
		s.t.Errorf("not as before: %s", diff)
	}
	s.t.Logf("through with %d writes, and back with %d", runs, back)
	// Half-way forth, and from there back.
	for _, writes := range []int64{4, 7, 12} {
		_ = s.dies(writes, func(ctx context.Context, on takeover.Site) error {
			plan, err := takeover.Look(ctx, []takeover.Site{on}, takeover.Options{Image: "registry.example/slipway:v9"})
			if err == nil {
				_, err = plan.Take(ctx, silent)
			}
			return err
		})
		unpause := s.wrong("Cluster", "default", "prod", true, "spec", "paused") // whoever did it, it must go on
		must(s.t, s.look(s.config, takeover.Options{}).Refused())
		unpause()
		s.givesBack(before)
	}
}

// untilThrough repeats what dies, each time one write later, and returns how often.
func (s *site) untilThrough(do func(context.Context, takeover.Site) error) int64 {
	s.t.Helper()
	step := int64(7)
	if os.Getenv("SLIPWAY_PROOFS") != "" {
		step = 1
	}
	for writes := int64(0); writes < 200; writes += step {
		if err := s.dies(writes, do); err == nil {
			return writes
		}
	}
	s.t.Fatal("it does not get through")
	return 0
}

var errDead = errors.New("killed")

// dies does something that is ended after a number of writes.
func (s *site) dies(writes int64, do func(context.Context, takeover.Site) error) error {
	s.t.Helper()
	ctx, kill := context.WithCancelCause(s.t.Context())
	defer kill(nil)
	left := &atomic.Int64{}
	left.Store(writes)
	config := rest.CopyConfig(s.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "selfsubjectaccessreviews") && left.Add(-1) < 0 {
				kill(errDead)
				return nil, errDead
			}
			return next.RoundTrip(r)
		})
	})
	on, err := takeover.Open(takeover.Management, config)
	must(s.t, err)
	return do(ctx, on)
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// withoutRights: all that is missing is told at once.
func withoutRights(s *site) {
	must(s.t, s.client.Create(s.t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}}}))
	must(s.t, s.client.Create(s.t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "bob"}}}))
	config := rest.CopyConfig(s.config)
	config.Impersonate.UserName = "bob"
	err := s.look(config, takeover.Options{}).Refused()
	for _, want := range []string{"deployments.apps: you are not allowed to patch, create, update, delete them", "clusterroles.rbac.authorization.k8s.io: you are not allowed to escalate, bind, patch",
		"customresourcedefinitions.apiextensions.k8s.io: you are not allowed to patch"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			s.t.Errorf("%q is not told: %v", want, err)
		}
	}
}
