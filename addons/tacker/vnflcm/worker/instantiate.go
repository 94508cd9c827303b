package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/machine"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// instantiate applies a package, and waits for its Clusters and machines.
type instantiate struct{}

// vimTypes are those of the management cluster, for manifests and for charts.
func (j *job) vimTypes() []string {
	if j.params.More.Chart != "" {
		return []string{"ETSINFV.HELM.V_3"}
	}
	return []string{"ETSINFV.KUBERNETES.V_1", "kubernetes"}
}

// plan reads the package; fresh is that of catalog.Load.
func (instantiate) plan(ctx context.Context, j *job, fresh bool) (*plan, map[string]int32, error) {
	from := source{files: j.params.files(), namespace: j.params.More.Namespace, release: j.release(), level: j.params.Level}
	p, err := j.plan(ctx, j.instance.Status.VNFDID, from, fresh)
	if err != nil {
		return nil, nil, err
	}
	d := p.content.VNFD
	if j.params.Flavour != d.Flavour {
		return nil, nil, refuse(http.StatusBadRequest, "flavourId: the package has %s, not %s", d.Flavour, j.params.Flavour)
	}
	if _, ok := d.Levels[cmp.Or(j.params.Level, d.DefaultLevel)]; !ok {
		return nil, nil, refuse(http.StatusBadRequest, "instantiationLevelId: the package has no level %s", j.params.Level)
	}
	levels := levelsOf(p.content, j.params.Level)
	return p, levels, p.size(levels)
}

func (a instantiate) start(ctx context.Context, j *job) error {
	if j.params.More.Receiver != "" {
		return refuse(http.StatusUnprocessableEntity, "credential_receiver_url: the endpoint sends no credentials; read the Secret <cluster>-kubeconfig")
	}
	for name, vim := range j.params.VIM {
		if types := j.vimTypes(); !slices.Contains(types, vim.Type) {
			return refuse(http.StatusUnprocessableEntity, "vimConnectionInfo.%s.vimType: %s does not suit the request; use %s", name, vim.Type, types[0])
		}
		if at := vim.Interface.Endpoint; at != "" && !slices.Contains(j.o.Endpoints, at) {
			return refuse(http.StatusUnprocessableEntity, "vimConnectionInfo.%s.interfaceInfo.endpoint: clusters are made on the management cluster of this endpoint; leave it out", name)
		}
	}
	// What a former attempt has left goes by way of another one, also when the package is disabled.
	p, _, err := a.plan(ctx, j, len(j.instance.Status.Objects) == 0)
	if err != nil {
		return err
	}
	return j.check(ctx, p)
}

func (a instantiate) process(ctx context.Context, j *job) (string, error) {
	p, levels, err := a.plan(ctx, j, false)
	if err != nil {
		return "", err
	}
	return j.settle(ctx, p, levels)
}

// settle applies a plan once in this process, and says what it waits for.
func (j *job) settle(ctx context.Context, p *plan, levels map[string]int32) (string, error) {
	if key := j.step(); !j.o.done(key) {
		if err := j.apply(ctx, p); err != nil {
			return "", err
		}
		j.o.mark(key)
	}
	waiting, err := j.available(ctx, p.refs())
	if err != nil || waiting != "" {
		return waiting, err
	}
	return j.rolled(ctx, p.targets, levels)
}

func (instantiate) undo(ctx context.Context, j *job) (string, error) {
	return j.removeAll(ctx, j.instance.Status.Objects, machine.IsCluster)
}

func (a instantiate) finish(ctx context.Context, j *job, completed bool) error {
	s := &j.instance.Status
	if !completed {
		s.Objects = nil
		return nil
	}
	p, levels, err := a.plan(ctx, j, false)
	if err != nil {
		return err
	}
	s.State, s.Flavour, s.Levels, s.Targets = v1alpha1.Instantiated, j.params.Flavour, levels, p.targets
	s.Files, s.Release, s.Namespace = j.params.files(), j.release(), cmp.Or(j.params.More.Namespace, j.op.Namespace)
	if j.params.More.Namespace == "" && s.Release == nil {
		if set, err := p.content.Settings(); err == nil {
			s.Namespace = set.Namespace
		}
	}
	s.VIMSecret, s.VIM = j.op.Spec.Secret, member(j.op.Spec.Params, "vimConnectionInfo")
	j.adopt("extensions", &s.Extensions)
	j.adopt("vnfConfigurableProperties", &s.Properties)
	return nil
}

// adopt takes over a member of the request, if it is there.
func (j *job) adopt(name string, into **runtime.RawExtension) {
	if value := member(j.op.Spec.Params, name); value != nil {
		*into = value
	}
}

// member is an object in a request's body.
func member(body *runtime.RawExtension, name string) *runtime.RawExtension {
	if body == nil {
		return nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(body.Raw, &all) != nil || len(all[name]) == 0 || string(all[name]) == "null" {
		return nil
	}
	return &runtime.RawExtension{Raw: all[name]}
}
