package takeover

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// refusals are requests that the API server refuses, by "METHOD part-of-path", with what is told then.
type refusals map[string]string

// fail has the server refuse requests of one kind.
func (w *world) fail(what string) {
	method, path, _ := strings.Cut(what, " ")
	w.server.Refuse = func(r *http.Request) (int, string) {
		if r.Method == method && strings.Contains(r.URL.Path, path) {
			return http.StatusForbidden, "Forbidden"
		}
		return 0, ""
	}
}

// each tries every refusal on its own cluster, and then that it goes through without.
func (all refusals) each(t *testing.T, role string, prepare, do func(*world) error) {
	t.Helper()
	for what, want := range all {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := azimuth(t)
			w.must(prepare(w))
			w.fail(what)
			err := do(w)
			if err == nil || !strings.HasPrefix(err.Error(), role+want) || !strings.Contains(err.Error(), "orbidden") || fault.ExitCode(err) != fault.ExitPartial || fault.Remedy(err) == "" {
				t.Errorf("%v", err)
			}
			w.server.Refuse = nil
			w.must(do(w))
		})
	}
}

func (w *world) takes() error {
	p, err := Look(w.Context(), []Site{w.site}, Options{Image: image})
	if err != nil {
		return err
	}
	changed, err := p.Take(w.Context(), silent)
	if !changed {
		w.Errorf("it does not say that it wrote: %v", err)
	}
	return err
}

// TestTakeRefused stops at the first request that is refused, and goes on from there.
func TestTakeRefused(t *testing.T) {
	t.Parallel()
	refusals{
		"POST /kube-system/secrets":                             "writing Secret slipway-adopted-environment",
		"PUT /kube-system/secrets/slipway-adopted":              "writing Secret slipway-adopted-environment",
		"PATCH /secrets/sh.helm.release.v1.cluster-api-janitor": "marking Secret sh.helm.release.v1.cluster-api-janitor-openstack.v1",
		"PATCH /deployments/cluster-api-janitor":                "scaling Deployment capi-janitor-system/cluster-api-janitor-openstack down",
		"DELETE /deployments/cluster-api-addon-provider":        "deleting Deployment capi-addon-system/cluster-api-addon-provider",
		"PATCH /poddisruptionbudgets/":                          "",
	}.each(t, "adopting the management cluster: ", func(*world) error { return nil }, (*world).takes)
}

// TestHandBackRefused stops likewise.
func TestHandBackRefused(t *testing.T) {
	t.Parallel()
	refusals{
		"GET /deployments/cluster-api-janitor":                  "reading Deployment capi-janitor-system/cluster-api-janitor-openstack",
		"PATCH /deployments/cluster-api-janitor":                "scaling Deployment capi-janitor-system/cluster-api-janitor-openstack down",
		"DELETE /poddisruptionbudgets/":                         "deleting PodDisruptionBudget ",
		"PUT /clusterroles/cluster-api-janitor":                 "restoring ClusterRole cluster-api-janitor-openstack",
		"GET /clusterroles/cluster-api-janitor":                 "reading ClusterRole cluster-api-janitor-openstack",
		"PATCH /secrets/sh.helm.release.v1.cluster-api-janitor": "marking Secret sh.helm.release.v1.cluster-api-janitor-openstack.v1",
		"POST /capi-janitor-system/deployments":                 "restoring Deployment capi-janitor-system/cluster-api-janitor-openstack",
		"DELETE /secrets/slipway-adopted-environment":           "deleting Secret slipway-adopted-environment",
	}.each(t, "handing back the management cluster: ", (*world).takes, func(w *world) error { return HandBack(w.Context(), []Site{w.site}, silent) })
}

// TestHandBackOfWhatIsNotKnown writes nothing.
func TestHandBackOfWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	w.put("Secret", "v1", recordNamespace, recordName, `{type: Opaque, data: {record: e30=}}`)
	if err := HandBack(t.Context(), []Site{w.site}, silent); err == nil || !strings.Contains(err.Error(), "it is not the record of an adoption") || fault.Remedy(err) == "" {
		t.Error(err)
	}
	w.fail("GET /secrets/" + recordName)
	if err := HandBack(t.Context(), []Site{w.site}, silent); err == nil || !strings.Contains(err.Error(), "reading Secret slipway-adopted-environment") {
		t.Error(err)
	}
	if changes := w.server.Changes(); len(changes) > 2 { // the releases of Azimuth, which the test made
		t.Errorf("%q", changes)
	}
}

// TestHandBackOfTheRelease: the seed gives back the release that it adopted, first of all, and no other.
func TestHandBackOfTheRelease(t *testing.T) {
	t.Parallel()
	taken := &helmrelease.Release{Name: "prod", Namespace: "a", Config: map[string]any{"adopted": "x"}}
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		record   string
		releases memory
		told     []string
		want     error
	}{
		"adopted":           {"prod", memory{taken, nil}, []string{"release a/prod"}, errors.ErrUnsupported},
		"not adopted":       {"prod", memory{&helmrelease.Release{Name: "prod", Namespace: "a"}, nil}, nil, nil},
		"gone":              {"prod", memory{}, nil, nil},
		"unreadable":        {"prod", memory{nil, broken}, nil, broken},
		"another's release": {"other", memory{nil, broken}, nil, nil},
	} {
		w := seed(t, "a/prod", "b/test")
		w.site.Clusters = adopt.Site{Client: w.site.Clusters.Client, Releases: test.releases}
		c := &Cluster{Role: Seed, site: w.site, record: &record{Environment: test.record}}
		var told []string
		err := c.returnRelease(t.Context(), func(text string) { told = append(told, text) })
		if (err == nil) != (test.want == nil) || !slices.Equal(told, test.told) || name == "unreadable" && !errors.Is(err, broken) {
			t.Errorf("%s: %v, told %q", name, err, told)
		}
		w.fail("GET /clusters")
		if err := c.returnRelease(t.Context(), silent); err == nil || !strings.Contains(err.Error(), "listing objects of kind Cluster") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheSeedComesFirst: where its release cannot be given back, nothing else is.
func TestTheSeedComesFirst(t *testing.T) {
	t.Parallel()
	management, w := azimuth(t), seed(t, "a/prod")
	management.must(management.takes())
	w.site.Clusters = adopt.Site{Client: w.site.Clusters.Client, Releases: memory{&helmrelease.Release{Config: map[string]any{"adopted": "x"}}, nil}}
	c := &Cluster{site: w.site, record: &record{Environment: "prod", Complete: true}}
	w.must(c.writeRecord(t.Context()))
	before := len(management.server.Changes())
	if err := HandBack(t.Context(), []Site{management.site, w.site}, silent); err == nil {
		t.Error("it was given back")
	}
	if changes := management.server.Changes()[before:]; len(changes) > 0 {
		t.Errorf("the management cluster: %q", changes)
	}
}

// TestOnlyWhatWasThereIsRestored: what Slipway made goes, but for definitions.
func TestOnlyWhatWasThereIsRestored(t *testing.T) {
	t.Parallel()
	w := bare(t)
	w.must(w.takes())
	if err := HandBack(t.Context(), []Site{w.site}, silent); err != nil {
		t.Fatal(err)
	}
	for _, path := range w.server.Paths() {
		if strings.Contains(path, "slipway") || strings.Contains(path, "cluster-api-") {
			t.Errorf("left behind: %s", path)
		}
	}
	if w.server.Get("customresourcedefinitions helmreleases.addons.stackhpc.com") == nil {
		t.Error("a definition went, and all objects with it")
	}
}
