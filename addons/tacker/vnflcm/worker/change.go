package worker

import (
	"context"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/catalog"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/machine"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
)

// change applies another package over that of the instance, with the same numbers of
// machines, and deletes what the new one does not have.
type change struct{}

func (change) plan(ctx context.Context, j *job, id string, files []string, fresh bool) (*plan, error) {
	from := source{files: files, namespace: j.forced(), release: j.instance.Status.Release, levels: j.instance.Status.Levels}
	if from.release != nil {
		from.namespace = j.instance.Status.Namespace
	}
	p, err := j.plan(ctx, id, from, fresh)
	if err != nil {
		return nil, err
	}
	return p, p.size(j.instance.Status.Levels)
}

// forced is the namespace that the instantiation gave to all objects.
func (j *job) forced() string {
	for _, o := range j.instance.Status.Objects {
		if o.Namespace != "" && o.Namespace != j.instance.Status.Namespace {
			return "" // they have namespaces of their own
		}
	}
	return j.instance.Status.Namespace
}

// changed are the files of the new package; a chart has the path of the old one unless the
// request says another.
func (j *job) changed() []string {
	if files := j.params.files(); len(files) > 0 {
		return files
	}
	return j.instance.Status.Files
}

func (a change) start(ctx context.Context, j *job) error {
	p, err := a.plan(ctx, j, j.params.VNFDID, j.changed(), true)
	if err != nil {
		return err
	}
	for _, old := range j.instance.Status.Objects {
		if machine.IsCluster(old) && !slices.ContainsFunc(p.refs(), old.Same) {
			return refuse(http.StatusUnprocessableEntity, "the new package does not have %s: a change never deletes a cluster", kube.Describe(object(old)))
		}
	}
	if err := j.older(ctx, p); err != nil {
		return err
	}
	return j.check(ctx, p)
}

func (a change) process(ctx context.Context, j *job) (string, error) {
	p, err := a.plan(ctx, j, j.params.VNFDID, j.changed(), false)
	if err != nil {
		return "", err
	}
	return j.replace(ctx, p)
}

// replace applies a plan, waits, and deletes what is not in it.
func (j *job) replace(ctx context.Context, p *plan) (string, error) {
	waiting, err := j.settle(ctx, p, j.instance.Status.Levels)
	if err != nil || waiting != "" {
		return waiting, err
	}
	keep := p.refs()
	rest := slices.DeleteFunc(slices.Clone(j.instance.Status.Objects), func(ref v1alpha1.ObjectRef) bool {
		return slices.ContainsFunc(keep, ref.Same) || machine.IsCluster(ref)
	})
	return j.removeAll(ctx, rest, func(v1alpha1.ObjectRef) bool { return false })
}

func (a change) undo(ctx context.Context, j *job) (string, error) {
	p, err := a.plan(ctx, j, j.instance.Status.VNFDID, j.instance.Status.Files, false)
	if err != nil {
		return "", err
	}
	if err := j.older(ctx, p); err != nil {
		return "", err
	}
	return j.replace(ctx, p)
}

// older refuses a plan with an older Kubernetes than there is: kubeadm cannot go back.
func (j *job) older(ctx context.Context, p *plan) error {
	for _, o := range p.objects {
		if o.GetKind() != "KubeadmControlPlane" {
			continue
		}
		there, err := j.find(ctx, refOf(o))
		if err != nil {
			return err
		}
		if there == nil {
			continue
		}
		is, _, _ := unstructured.NestedString(there.Object, "spec", "version")
		to, _, _ := unstructured.NestedString(o.Object, "spec", "version")
		now, err1 := version.ParseSemantic(is)
		next, err2 := version.ParseSemantic(to)
		if err1 == nil && err2 == nil && next.LessThan(now) {
			return refuse(http.StatusUnprocessableEntity, "%s runs Kubernetes %s, which cannot go back to %s", kube.Describe(o), is, to)
		}
	}
	return nil
}

func (a change) finish(ctx context.Context, j *job, completed bool) error {
	s := &j.instance.Status
	id, files := s.VNFDID, s.Files
	if completed {
		id, files = j.params.VNFDID, j.changed()
	}
	p, err := a.plan(ctx, j, id, files, false)
	if err != nil {
		return err
	}
	s.Objects, s.Targets, s.Files = p.refs(), p.targets, files
	if completed {
		catalog.Identify(&s.Identity, p.content)
		j.adopt("extensions", &s.Extensions)
		j.adopt("vnfConfigurableProperties", &s.Properties)
	}
	return nil
}
