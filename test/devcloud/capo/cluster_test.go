package capo

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
)

const (
	coreAPI           = "cluster.x-k8s.io/v1beta2"
	infrastructureAPI = "infrastructure.cluster.x-k8s.io/v1beta1"
)

// cluster is one that Cluster API makes.
type cluster struct {
	*project
	management *management
	name       string
	// clouds is the clouds.yaml of a cluster of the chart, once it has one.
	clouds []byte
}

// machines are the machines of a cluster, with the label that makes one a
// control plane.
func machines() map[string]string {
	return map[string]string{"control-plane": "cluster.x-k8s.io/control-plane", "worker": ""}
}

// makeCluster creates the objects of a cluster.
func makeCluster(p *project, m *management, name, image string) *cluster {
	p.Helper()
	c := &cluster{project: p, management: m, name: name}
	text := need(os.ReadFile("testdata/cluster.yaml"))(p)
	var filled bytes.Buffer
	values := map[string]any{"Name": name, "CloudsYAML": base64.StdEncoding.EncodeToString(p.credential(name)), "Flavor": p.flavor(),
		"Image": image, "Version": component.KubernetesVersion, "Machines": machines()}
	if err := need(template.New("cluster").Parse(string(text)))(p).Execute(&filled, values); err != nil {
		p.Fatal(err)
	}
	if err := m.kube.Apply(p.Context(), filled.Bytes()); err != nil {
		p.Fatal(err)
	}
	return c
}

// object reads one of the cluster's objects.
func (c *cluster) object(version, kind, name string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(version)
	object.SetKind(kind)
	object.SetName(name)
	object.SetNamespace("default")
	client, err := c.management.kube.Resource(object)
	if err != nil {
		return nil, err
	}
	return client.Get(c.Context(), name, metav1.GetOptions{})
}

// provisioned waits for an object whose status says so in Cluster API's words.
func (c *cluster) provisioned(version, kind, name string) *unstructured.Unstructured {
	c.Helper()
	var object *unstructured.Unstructured
	eventually(c.T, kind+" "+name+" is provisioned", 5*time.Minute, func() (err error) {
		if object, err = c.object(version, kind, name); err != nil {
			return err
		}
		if done, _, _ := unstructured.NestedBool(object.Object, "status", "initialization", "provisioned"); done {
			return nil
		}
		if done, _, _ := unstructured.NestedBool(object.Object, "status", "initialization", "infrastructureProvisioned"); done {
			return nil
		}
		return errors.New(conditions(object))
	})
	return object
}

// conditions are those that are not met, for people.
func conditions(object *unstructured.Unstructured) string {
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var said []string
	for _, one := range all {
		if condition, ok := one.(map[string]any); ok && condition["status"] != "True" {
			said = append(said, fmt.Sprintf("%v: %v (%v)", condition["type"], condition["reason"], condition["message"]))
		}
	}
	return kube.Describe(object) + ": " + strings.Join(said, "; ")
}

// text is a field of an object, which must not be empty.
func (c *cluster) text(object *unstructured.Unstructured, fields ...string) string {
	c.Helper()
	value, _, _ := unstructured.NestedString(object.Object, fields...)
	if value == "" {
		c.Fatalf("%s has no %s", kube.Describe(object), strings.Join(fields, "."))
	}
	return value
}

// delete deletes the Cluster, unless that was done, and waits until nothing of
// it is left.
func (c *cluster) delete() {
	c.Helper()
	object, err := c.object(coreAPI, "Cluster", c.name)
	if apierrors.IsNotFound(err) {
		return
	}
	client := need(c.management.kube.Resource(need(object, err)(c)))(c)
	if err := client.Delete(c.Context(), c.name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
	eventually(c.T, "the end of Cluster "+c.name, 5*time.Minute, func() error {
		_, err := c.object(coreAPI, "Cluster", c.name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		below, err := c.object(infrastructureAPI, "OpenStackCluster", c.name)
		if err != nil {
			return err
		}
		return errors.New(conditions(below))
	})
}
