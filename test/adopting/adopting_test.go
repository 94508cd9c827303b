package adopting

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/stacks/workload"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// like is a chart that makes objects as capi-helm-charts' does.
func like(t *testing.T, version string) *chart.Chart {
	t.Helper()
	c, err := loader.Load(filepath.Join("..", "..", "stacks", "workload", "adopt", "testdata", "openstack-cluster"))
	must(t, err)
	c.Metadata.Version = version
	return c
}

// given are an operator's values.
func given() map[string]any {
	return map[string]any{
		"kubernetesVersion": "1.33.5", "machineImageId": "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1", "machineSSHKeyName": "ops",
		"clouds": map[string]any{"openstack": map[string]any{"auth": map[string]any{"auth_url": "https://k/v3", "application_credential_id": "id", "project_id": "p",
			"application_credential_secret": "hush"}, "region_name": "r", "interface": "public", "identity_api_version": 3, "auth_type": "v3applicationcredential"}},
		"controlPlane":      map[string]any{"machineFlavor": "m1.medium", "machineCount": 3},
		"nodeGroupDefaults": map[string]any{"machineFlavor": "m1.large"},
		"nodeGroups":        nodes(2),
	}
}

func nodes(count int) []any {
	return []any{map[string]any{"name": "md-0", "machineCount": count}, map[string]any{"name": "gpu", "machineFlavor": "g1.large", "machineCount": 1}}
}

// TestAdopting is on one API server: with Cluster API's definitions and conversions, and
// Helm's own records.
func TestAdopting(t *testing.T) {
	s := manage(t)
	for name, test := range map[string]func(*site){"Release": release, "ByHand": byHand, "AsItIs": asItIs, "Originals": originals} {
		t.Run(name, func(t *testing.T) { test(&site{t, s.config, s.client, s.kubeconfig}) })
	}
}

// adopts plans, adopts, and looks whether anything was touched.
func (s *site) adopts(namespace, name string) {
	s.t.Helper()
	before := s.versions(namespace)
	p := s.plan(s.t.Context(), name, namespace)
	if len(p.Clusters) != 1 || p.Clusters[0].Verdict != adopt.Adopt || p.Clusters[0].Rolls != 0 {
		s.t.Fatalf("not adopted: %v", p.Refused())
	}
	if changed := s.take(p); len(changed) != 1 {
		s.t.Error(changed)
	}
	s.untouched(namespace, before)
	if again := s.plan(s.t.Context(), name, namespace); again.Clusters[0].Verdict != adopt.Ours {
		s.t.Errorf("after the adoption: %+v", again.Clusters[0])
	}
	if changed := s.take(s.plan(s.t.Context(), name, namespace)); len(changed) != 0 {
		s.t.Error("a second run adopted", changed)
	}
}

func (s *site) untouched(namespace string, before map[string]string) {
	s.t.Helper()
	if diff := cmp.Diff(before, s.versions(namespace)); diff != "" {
		s.t.Errorf("somebody wrote: %s", diff)
	}
}

// change is slipway cluster create on a cluster that is there.
func (s *site) change(namespace, name string, values map[string]any) (workload.Change, error) {
	s.t.Helper()
	m, err := workload.New("capi-mgmt", s.config)
	must(s.t, err)
	_, change, err := m.Create(s.t.Context(), workload.Cloud{}, workload.Wanted{Name: name, Namespace: namespace, Values: values, Wait: workload.WaitNone,
		Defaults: map[string]any{"kubernetesVersion": "1.34.4", "machineImageId": "the environment's"}}, func(string) {})
	return change, err
}

// release: a release of a chart like capi-helm-charts' is adopted without a write to any
// object. Then Slipway's chart changes a size, and nothing else.
func release(s *site) {
	s.install("shops", "shop", like(s.t, "0.23.0"), given())
	s.adopts("shops", "shop")
	h, err := helm.New(s.config, "shops", slog.New(slog.DiscardHandler))
	must(s.t, err)
	last, err := h.Last("shop")
	must(s.t, err)
	if last.Version != 2 || last.Chart.Metadata.Version != "1.0.0" || last.Labels[workload.LabelCluster] != "shop" || last.Info.Description != "adopted from openstack-cluster 0.23.0" {
		s.t.Errorf("revision %d of chart %s: %v %q", last.Version, last.Chart.Metadata.Version, last.Labels, last.Info.Description)
	}
	before := s.versions("shops")
	s.handsBack("shops", "shop")
	change, err := s.change("shops", "shop", nil)
	if err != nil || change != workload.Unchanged {
		s.t.Fatal(change, err)
	}
	s.untouched("shops", before)
	change, err = s.change("shops", "shop", map[string]any{"nodeGroups": nodes(4)})
	if err != nil || change != workload.Changed {
		s.t.Fatal(change, err)
	}
	after := s.versions("shops")
	if n, _, _ := unstructured.NestedInt64(s.get("MachineDeployment", "shops", "shop-md-0").Object, "spec", "replicas"); n != 4 {
		s.t.Errorf("%d machines", n)
	}
	for _, key := range []string{"MachineDeployment shop-md-0", "ServiceAccount shop-autoscaler", "Secret shop-admission-configuration", "Secret shop-cloud-credentials"} {
		delete(before, key) // the group; what has no counterpart goes; what only Slipway has comes; its labels
		delete(after, key)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		s.t.Errorf("a size changed more: %s", diff)
	}
	s.upgrades("shops", "shop")
}

// handsBack: an adoption can be undone and made again, without a write to any object.
func (s *site) handsBack(namespace, name string) {
	s.t.Helper()
	before := s.versions(namespace)
	to, err := adopt.Open(s.config)
	must(s.t, err)
	_, err = to.HandBack(s.t.Context(), name, namespace)
	must(s.t, err)
	h, err := helm.New(s.config, namespace, slog.New(slog.DiscardHandler))
	must(s.t, err)
	last, err := h.Last(name)
	must(s.t, err)
	if last.Version != 1 || last.Info.Status != "deployed" || last.Chart.Metadata.Version != "0.23.0" {
		s.t.Errorf("revision %d of chart %s is %s", last.Version, last.Chart.Metadata.Version, last.Info.Status)
	}
	s.untouched(namespace, before)
	s.adopts(namespace, name)
}

// upgrades: the next version, which replaces machines anyway, makes them Slipway's: what
// they are made of is what the chart makes, with nothing left of the other's.
func (s *site) upgrades(namespace, name string) {
	s.t.Helper()
	change, err := s.change(namespace, name, map[string]any{"kubernetesVersion": "1.34.1", "machineImageId": "0b0b0b0b-3a1e-4b8d-9d1c-3d6e6f6cf7a1"})
	if err != nil || change != workload.Changed {
		s.t.Fatal(change, err)
	}
	h, err := helm.New(s.config, namespace, slog.New(slog.DiscardHandler))
	must(s.t, err)
	last, err := h.Last(name)
	must(s.t, err)
	text, err := openstackcluster.Render(openstackcluster.Release{Name: name, Namespace: namespace, Values: last.Config})
	must(s.t, err)
	compared := 0
	for document := range strings.SplitSeq(text, "\n---\n") {
		var o unstructured.Unstructured
		must(s.t, yaml.Unmarshal([]byte(document), &o.Object))
		if o.GetKind() != "KubeadmControlPlane" && o.GetKind() != "MachineDeployment" {
			continue
		}
		compared++
		live := s.get(o.GetKind(), namespace, o.GetName())
		for _, path := range [][]string{{"spec", "kubeadmConfigSpec"}, {"spec", "template", "spec", "bootstrap"}, {"spec", "template", "spec", "version"},
			{"spec", "template", "spec", "infrastructureRef"}, {"spec", "machineTemplate", "spec", "infrastructureRef"}} {
			want, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
			has, _, _ := unstructured.NestedFieldNoCopy(live.Object, path...)
			a, _ := json.Marshal(want)
			b, _ := json.Marshal(has)
			if diff := cmp.Diff(string(a), string(b)); diff != "" {
				s.t.Errorf("%s %v: %s", o.GetName(), path, diff)
			}
		}
		for _, path := range [][]string{{"spec", "template", "spec", "infrastructureRef", "name"}, {"spec", "machineTemplate", "spec", "infrastructureRef", "name"}} {
			if template, there, _ := unstructured.NestedString(live.Object, path...); there {
				s.get("OpenStackMachineTemplate", namespace, template)
			}
		}
	}
	if compared != 3 {
		s.t.Errorf("%d objects compared", compared)
	}
}

// byHand: a cluster that somebody scaled is refused with the numbers, and nothing of it is
// written. Another one is adopted.
func byHand(s *site) {
	s.install("labs", "lab", like(s.t, "0.27.0"), given())
	s.install("labs", "fine", like(s.t, "0.27.0"), given())
	s.edit("MachineDeployment", "labs", "lab-md-0", int64(7), "spec", "replicas")
	before := s.versions("labs")
	p := s.plan(s.t.Context(), "", "labs")
	if err := p.Refused(); err == nil || !strings.Contains(err.Error(), "MachineDeployment lab-md-0 has spec.replicas 7, its release 2") {
		s.t.Errorf("%v", err)
	}
	if changed := s.take(p); len(changed) != 1 || changed[0] != "labs/fine" {
		s.t.Error(changed)
	}
	s.untouched("labs", before)
	if _, err := s.change("labs", "lab", given()); err == nil || !strings.Contains(err.Error(), "did not create it") {
		s.t.Error(err)
	}
}

// asItIs: a cluster without a release gets a record, is Slipway's in the list, and is not
// changed by values.
func asItIs(s *site) {
	s.install("bare", "bare", like(s.t, "0.25.1"), given())
	must(s.t, s.client.DeleteAllOf(s.t.Context(), &corev1.Secret{}, client.InNamespace("bare"), client.MatchingLabels{"owner": "helm"}))
	before := s.versions("bare")
	p := s.plan(s.t.Context(), "bare", "")
	if p.Clusters[0].Verdict != adopt.AsItIs {
		s.t.Fatalf("%+v", p.Clusters[0])
	}
	s.take(p)
	after := s.versions("bare")
	delete(after, "Secret bare-adopted")
	if diff := cmp.Diff(before, after); diff != "" {
		s.t.Errorf("adopting wrote: %s", diff)
	}
	m, err := workload.New("capi-mgmt", s.config)
	must(s.t, err)
	list, err := m.List(s.t.Context())
	must(s.t, err)
	for _, one := range list {
		if one.Name == "bare" && one.MadeBy != workload.Ours {
			s.t.Errorf("%+v", one)
		}
	}
	if may, err := m.MayDelete(s.t.Context(), workload.Key{Namespace: "bare", Name: "bare"}); err != nil || !may {
		s.t.Error(may, err)
	}
	if _, err := s.change("bare", "bare", given()); err == nil || !strings.Contains(err.Error(), "it was adopted as it is, without values") {
		s.t.Error(err)
	}
}

// originals adopts releases of capi-helm-charts' own charts, which are not here: the
// variable names a folder with one unpacked chart per version.
func originals(s *site) {
	folder := os.Getenv("SLIPWAY_CAPI_HELM_CHARTS")
	if folder == "" {
		s.t.Skip("SLIPWAY_CAPI_HELM_CHARTS names no folder with charts of capi-helm-charts: run make adopt-originals")
	}
	entries, err := os.ReadDir(folder)
	must(s.t, err)
	for _, entry := range entries {
		s.t.Run(entry.Name(), func(t *testing.T) {
			c, err := loader.Load(filepath.Join(folder, entry.Name()))
			must(t, err)
			s := &site{t, s.config, s.client, s.kubeconfig}
			name := "c" + strings.ReplaceAll(entry.Name(), ".", "-")
			s.install(name, name, c, given())
			s.adopts(name, name)
			if change, err := s.change(name, name, nil); err != nil || change != workload.Unchanged {
				t.Error(change, err)
			}
		})
	}
}
