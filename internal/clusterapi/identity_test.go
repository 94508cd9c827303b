package clusterapi

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cause/look"
)

const identified = cluster + "openstackclusters\nmetadata: {name: c}\nspec: {identityRef: {type: ClusterIdentity, name: all, cloudName: openstack, region: RegionTwo}}\nstatus: {ready: true}\n"

// foreignClouds was written on somebody's machine, where its path is.
const foreignClouds = "clouds: {openstack: {auth: {auth_url: https://k}, region_name: RegionOne, cacert: /home/me/ca.pem}}"

// TestLoginsOfASharedIdentity: CAPO reads the Secret that an OpenStackClusterIdentity names, for
// the namespaces that its selector admits, and so does who asks for causes.
func TestLoginsOfASharedIdentity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spec, labels, why string }{
		"for all namespaces":      {"secretRef: {name: s, namespace: logins}", "{}", ""},
		"for this one":            {"secretRef: {name: s, namespace: logins}, namespaceSelector: {matchLabels: {team: a}}", "{team: a}", ""},
		"for others":              {"secretRef: {name: s, namespace: logins}, namespaceSelector: {matchLabels: {team: a}}", "{team: b}", "OpenStackClusterIdentity all: its namespaceSelector does not admit the cluster's namespace"},
		"of a Secret that is not": {"secretRef: {name: t, namespace: logins}", "{}", `secrets "t" not found`},
		"none of that name":       {"", "{}", `openstackclusteridentities.infrastructure.cluster.x-k8s.io "all" not found`},
	} {
		client := parent(t, identified)
		put(t, client, namespaces, "", "metadata: {name: "+in+", labels: "+c.labels+"}")
		put(t, client, secrets, "logins", "metadata: {name: s}\ndata: {clouds.yaml: "+base64.StdEncoding.EncodeToString([]byte(foreignClouds))+"}")
		if c.spec != "" {
			put(t, client, identities, "", "metadata: {name: all}\nspec: {"+c.spec+"}")
		}
		all, err := ReadAll(t.Context(), client, in)
		if err != nil {
			t.Fatal(err)
		}
		login, ok := all.Login(t.Context(), client, in, "c")
		brief, known, err := Brief{NamespacedName: types.NamespacedName{Namespace: in, Name: "c"}, Infrastructure: "c"}.Login(t.Context(), client)
		if err != nil || ok != known || ok != (c.why == "") {
			t.Errorf("%s: found %v and %v: %v", name, ok, known, err)
		}
		if ok {
			if text := string(login.CloudsYAML); strings.Contains(text, "/home") || !strings.Contains(text, "RegionOne") || login.Cloud != "openstack" || login.Region != "RegionTwo" || string(brief.CloudsYAML) != string(login.CloudsYAML) {
				t.Errorf("%s: %+v", name, login)
			}
			continue
		}
		said := all.Ask(t.Context(), client, look.NewCache(time.Now), false, func(Report) bool { return true })
		for _, r := range all.Reports(said.Of, time.Now()) {
			if len(r.Findings) != 1 || r.Findings[0].Reason != "credential-missing" || r.Findings[0].Cause != c.why || !strings.Contains(r.Findings[0].Fix, "kubectl edit openstackclusteridentity all") {
				t.Errorf("%s: found %+v", name, r.Findings)
			}
		}
	}
}

// put makes an object of a resource in a namespace, or in none.
func put(t *testing.T, client *fake.FakeDynamicClient, kind schema.GroupVersionResource, namespace, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Resource))
	o.SetNamespace(namespace)
	if _, err := client.Resource(kind).Namespace(namespace).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
