package openstackcluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

var serverGroupResource = schema.GroupVersionResource{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Resource: "servergroups"}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// until waits for something; seen is what there was instead.
func until(t *testing.T, done func() bool, seen *string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(300 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long; there is %q", *seen)
		}
	}
}

// controllerDefinitions are all that the resource controller looks after, for it
// watches each of them, and that of Clusters.
func controllerDefinitions(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile(filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), "manifests", "openstack-resource-controller.yaml")))
	all := slices.DeleteFunc(must[[]*unstructured.Unstructured](t)(kube.Decode(bytes.NewReader(text))), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != "CustomResourceDefinition"
	})
	for _, definition := range definitionObjects(t) {
		if definition.GetName() == "clusters.cluster.x-k8s.io" {
			all = append(all, definition)
		}
	}
	return all
}

// credentials is the Secret that the release's objects log in with.
func credentials(t *testing.T, cloud *sandboxtest.Cloud) []byte {
	t.Helper()
	clouds := fmt.Sprintf(`{clouds: {openstack: {region_name: RegionOne, auth: {auth_url: %q, username: demo, password: %q, project_name: demo, user_domain_name: Default, project_domain_name: Default}}}}`,
		cloud.URL()+"/identity", cloud.Passwords().Demo)
	return fmt.Appendf(nil, "{apiVersion: v1, kind: Secret, metadata: {name: creds, namespace: clusters}, data: {clouds.yaml: %s}}", base64.StdEncoding.EncodeToString([]byte(clouds)))
}

// groupObjects are the release's server groups and its Cluster.
func groupObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	text := must[string](t)(Render(Release{Name: "c1", Namespace: "clusters", Values: values(t, minimal, groupsOfThree)}))
	return slices.DeleteFunc(decode(t, text), func(o *unstructured.Unstructured) bool {
		o.SetNamespace("clusters")
		return o.GetKind() != "ServerGroup" && o.GetKind() != "Cluster"
	})
}

// runController runs the resource controller as a process until the test's end.
func runController(t *testing.T, program string, kubeconfig []byte) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	log := must[*os.File](t)(os.Create(filepath.Join(dir, "log")))
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--kubeconfig="+path, "--health-probe-bind-address=0")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait() //nolint:errcheck // it was killed
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("the controller said:\n%s", text[max(0, len(text)-5000):])
		}
		log.Close()
	})
}

// inNova are the groups of the project, as "name policy; ".
func inNova(t *testing.T, nova *gophercloud.ServiceClient) string {
	t.Helper()
	pages, err := servergroups.List(nova, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, g := range must[[]servergroups.ServerGroup](t)(servergroups.ExtractServerGroups(pages)) {
		list = append(list, fmt.Sprintf("%s %s; ", g.Name, *g.Policy))
	}
	slices.Sort(list)
	return strings.Join(list, "")
}

// told are the states of the objects, as "name state; ".
func told(t *testing.T, objects dynamic.Interface) string {
	t.Helper()
	list := must[*unstructured.UnstructuredList](t)(objects.Resource(serverGroupResource).Namespace("clusters").List(t.Context(), metav1.ListOptions{}))
	var text strings.Builder
	for _, object := range list.Items {
		state := "Pending"
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, c := range conditions {
			switch {
			case at(c, "type") == "Available" && at(c, "status") == "True":
				state = "Available"
			case at(c, "type") == "Progressing" && at(c, "reason") == "InvalidConfiguration":
				state = "InvalidConfiguration"
			}
		}
		fmt.Fprintf(&text, "%s %s; ", object.GetName(), state)
	}
	return text.String()
}

// waiting is what `slipway up` would wait for.
func waiting(t *testing.T, objects dynamic.Interface) clusterapi.Part {
	t.Helper()
	reports := must[[]clusterapi.Report](t)(clusterapi.Read(t.Context(), objects, "clusters"))
	if len(reports) != 1 {
		t.Fatalf("reports %+v", reports)
	}
	part, _ := reports[0].Waiting()
	return part
}
