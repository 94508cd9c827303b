// Package drill shows that a backup can be restored: into an API server that is thrown
// away afterwards, without any credential of a cloud in use, with the proofs that a
// rebuild makes. It writes nothing anywhere else.
package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
)

// Part is how long a part took, in seconds.
type Part struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Result is what a drill found.
type Result struct {
	Objects  int      `json:"objects"`
	Clusters []string `json:"clusters"`
	// Checks are the proofs; Parts are the times of the parts.
	Checks []recovery.Check `json:"checks"`
	Parts  []Part           `json:"parts"`
}

// Failed are the checks that failed, each with the first object.
func (r Result) Failed() (all []string) {
	for _, c := range r.Checks {
		if c.State == recovery.Refuted && len(c.Findings) > 0 {
			all = append(all, fmt.Sprintf("%s: %s: %s", c.ID, c.Findings[0].Object, c.Findings[0].Cause))
		}
	}
	return all
}

// Err is an error for each object of a failed check.
func (r Result) Err() error { return recovery.Err(r.Checks) }

// offline are the proofs that need neither the cloud of today nor the controllers of a
// rebuild.
func offline() map[string]bool {
	return map[string]bool{"objects": true, "paused": true, "owners": true, "references": true, "releases": true, "decision": true, "deletions": true}
}

// Drill is one drill.
type Drill struct {
	Snapshot *snapshot.Snapshot
	// Own is the Cluster, "namespace/name", of the management cluster itself.
	Own string
	// Progress, if set, receives what is done: n of total.
	Progress func(what string, n, total int)
}

// Run restores into a cluster, which must be empty, and proves. A check that fails is no
// error of Run; an object that the API server refuses is.
func (d Drill) Run(ctx context.Context, on *kube.Cluster) (Result, error) {
	r := Result{Clusters: []string{}, Checks: []recovery.Check{}}
	part := func(name string, do func() error) error {
		began := time.Now()
		err := do()
		r.Parts = append(r.Parts, Part{name, time.Since(began).Seconds()})
		return err
	}
	var plan *recovery.Plan
	if err := part("plan", func() (err error) {
		plan, err = recovery.NewPlan(d.Snapshot, recovery.Scope{Own: d.Own})
		return err
	}); err != nil {
		return r, fmt.Errorf("planning the restore: %w", err)
	}
	r.Objects, r.Clusters = plan.Objects(), append(r.Clusters, plan.Clusters()...)
	if r.Objects == 0 {
		return r, fault.New("backup", errors.New("there is nothing in it to restore: no cluster, and nothing that belongs to one"), "if the management cluster has clusters, the backup is of another one")
	}
	if err := part("define", func() error { return d.define(ctx, on, plan) }); err != nil {
		return r, err
	}
	if err := part("restore", func() error {
		_, err := restore.Restorer{To: on, Progress: d.Progress}.Run(ctx, plan)
		return err
	}); err != nil {
		return r, fmt.Errorf("restoring: %w", err)
	}
	err := part("prove", func() error {
		live, err := restore.Live(ctx, on, plan)
		if err != nil {
			return err
		}
		r.Checks = d.prove(plan, live)
		return nil
	})
	return r, err
}

// prove runs the proofs. The cloud is that of the backup: what the backup does not know
// of it is in no proof.
func (d Drill) prove(plan *recovery.Plan, live []*unstructured.Unstructured) (checks []recovery.Check) {
	seen := recovery.Cloud{Inventory: d.Snapshot.Cloud, Projects: projects(plan, d.Snapshot), Unread: map[string]string{}}
	e := recovery.Evidence{Snapshot: d.Snapshot, Plan: plan, Live: live, Cloud: seen, Controllers: d.Snapshot.Controllers, Now: d.Snapshot.Taken}
	for _, c := range recovery.Prove(e) {
		if offline()[c.ID] {
			checks = append(checks, c)
		}
	}
	return checks
}

// projects are those of clusters by a server that the backup's inventory has.
func projects(plan *recovery.Plan, s *snapshot.Snapshot) map[string]string {
	of := map[string]string{}
	for _, server := range s.Cloud.Servers {
		of[server.ID] = server.Project
	}
	found := map[string]string{}
	for _, step := range plan.Steps {
		for _, o := range step {
			id, _, _ := unstructured.NestedString(o.Object, "spec", "providerID")
			cluster, _, _ := unstructured.NestedString(o.Object, "spec", "clusterName")
			if project := of[recovery.ServerID(id)]; project != "" && cluster != "" {
				found[o.GetNamespace()+"/"+cluster] = project
			}
		}
	}
	return found
}

// define makes the kinds of the plan from the definitions of the backup, without the
// webhooks that would convert: everything is restored in the version it was stored in. It makes
// the namespaces, too, that slipway up makes on a management cluster.
func (d Drill) define(ctx context.Context, on *kube.Cluster, plan *recovery.Plan) error {
	wanted := map[schema.GroupKind]*unstructured.Unstructured{}
	for _, step := range plan.Steps {
		for _, o := range step {
			wanted[o.GroupVersionKind().GroupKind()] = o
		}
	}
	all, err := d.definitions(wanted)
	if err != nil {
		return err
	}
	if err := on.ApplyObjects(ctx, append(places(plan), all...)); err != nil {
		return fmt.Errorf("defining the kinds of the backup: %w", err)
	}
	return served(ctx, on, plan)
}

// places are the namespaces of objects that the plan does not bring itself, such as that of the
// controllers in which the Secret of an OpenStackClusterIdentity is.
func places(plan *recovery.Plan) (all []*unstructured.Unstructured) {
	known := map[string]bool{"": true}
	objects := slices.Concat(plan.Steps...)
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			known[o.GetName()] = true
		}
	}
	for _, o := range objects {
		if name := o.GetNamespace(); !known[name] {
			known[name] = true
			all = append(all, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}})
		}
	}
	return all
}

// definitions are those of the wanted kinds, each given with one of its objects. It is an
// error if the backup lacks one.
func (d Drill) definitions(wanted map[schema.GroupKind]*unstructured.Unstructured) (all []*unstructured.Unstructured, err error) {
	defined := map[schema.GroupKind]bool{}
	for _, o := range d.Snapshot.Objects {
		if o.GroupVersionKind().Group != apiextensionsv1.GroupName {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		defined[schema.GroupKind{Group: group, Kind: kind}] = true
		if wanted[schema.GroupKind{Group: group, Kind: kind}] == nil {
			continue
		}
		o = recovery.Prepare(o, nil)
		unstructured.RemoveNestedField(o.Object, "spec", "conversion")
		all = append(all, o)
	}
	var wrong []error
	for kind, o := range wanted {
		// Kubernetes' own groups have no dot, or end in k8s.io, which Cluster API's do not
		// alone.
		own := !strings.Contains(kind.Group, ".") || strings.HasSuffix(kind.Group, ".k8s.io") && !strings.HasSuffix(kind.Group, "x-k8s.io")
		if !own && !defined[kind] {
			wrong = append(wrong, fault.New(recovery.Describe(o), fmt.Errorf("the backup has no definition of its kind %s", kind), "make a new backup; if it has the same fault, look at the CustomResourceDefinition on the management cluster"))
		}
	}
	return all, errors.Join(wrong...)
}

// servedTime bounds the wait for new kinds.
const servedTime = time.Minute

// served waits until all kinds of the plan are. One that has no definition never is.
func served(ctx context.Context, on *kube.Cluster, plan *recovery.Plan) error {
	ctx, cancel := context.WithTimeout(ctx, servedTime)
	defer cancel()
	seen := map[schema.GroupVersionKind]bool{}
	for _, step := range plan.Steps {
		for _, o := range step {
			kind := o.GroupVersionKind()
			for !seen[kind] {
				_, err := on.Everywhere(kind)
				if err == nil {
					seen[kind] = true
					break
				}
				select {
				case <-ctx.Done():
					return fault.New(recovery.Describe(o), fmt.Errorf("its kind %s is not served by the definitions of the backup: %w", kind, err), "make a new backup; if it has the same fault, look at the CustomResourceDefinition on the management cluster")
				case <-time.After(200 * time.Millisecond):
				}
			}
		}
	}
	return nil
}
