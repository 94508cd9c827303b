package tackertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// The drivers, by the VIM's type.
const (
	HelmVIM       = "ETSINFV.HELM.V_3"
	KubernetesVIM = "ETSINFV.KUBERNETES.V_1"
)

// Instance is a VNF instance: what Tacker keeps of it.
type Instance struct {
	*testing.T
	ID        string
	VNFDID    string
	Namespace string
	// Levels are scaleStatus.
	Levels map[string]int

	k     *Tacker
	pkg   *Package
	vim   string
	meta  map[string]any
	chart string
	// values are the value paths of VDUs (helm_value_names), files what is deployed.
	values map[string]string
	files  []string
	// resources are vnfcResourceInfo: the running Pod of each VDU.
	resources map[string]string
}

// Instance is POST /vnf_instances.
func (k *Tacker) Instance(t *testing.T, p *Package) (*Instance, error) {
	if p.Onboarding != Onboarded || p.Operational != Enabled {
		return nil, fail(422, "the package is %s and %s", p.Onboarding, p.Operational)
	}
	k.use(p, 1)
	return &Instance{T: t, ID: uuid.NewString(), k: k, pkg: p}, nil
}

// Release is the name of the instance's release.
func (i *Instance) Release() string { return "vnf" + strings.ReplaceAll(i.ID, "-", "") }

// Pod is the running Pod that stands for a VDU; "" if there is none.
func (i *Instance) Pod(unit string) string {
	i.look()
	return i.resources[unit]
}

func params(body map[string]any) map[string]any {
	more, _ := body["additionalParams"].(map[string]any)
	return more
}

// texts are a list of strings in a body, which has been JSON or not.
func texts(value any) (all []string) {
	switch list := value.(type) {
	case []string:
		return list
	case []any:
		for _, one := range list {
			all = append(all, fmt.Sprint(one))
		}
	}
	return all
}

// Instantiate is POST …/instantiate: the level's numbers, the driver, the scripts.
func (i *Instance) Instantiate(body map[string]any) error {
	i.Helper()
	more := params(body)
	i.Namespace, _ = more["namespace"].(string)
	if i.Namespace == "" {
		i.Namespace = "default"
	}
	if body["flavourId"] != i.pkg.VNFD.Flavour {
		return fail(400, "flavourId %v is not in the VNFD", body["flavourId"])
	}
	level := i.pkg.VNFD.DefaultLevel
	if given, ok := body["instantiationLevelId"].(string); ok {
		level = given
	}
	if i.pkg.VNFD.levels[level] == nil {
		return fail(400, "instantiationLevelId %s is not in the VNFD", level)
	}
	i.VNFDID, i.Levels = i.pkg.VNFD.ID, map[string]int{}
	for aspect, at := range i.pkg.VNFD.levels[level] {
		i.Levels[aspect] = at
	}
	some := false
	for unit := range i.pkg.VNFD.names {
		some = some || i.pkg.VNFD.counts[unit][level] > 0
	}
	if !some {
		return unset()
	}
	if err := i.script("instantiate_start", i.pkg, body); err != nil {
		return err
	}
	if err := i.deploy(level, more); err != nil {
		return err
	}
	i.look()
	return i.script("instantiate_end", i.pkg, body)
}

// Again is POST …/retry of an instantiation whose driver was done: only its last script
// had failed, and what the driver does again changes nothing.
func (i *Instance) Again(body map[string]any) error {
	i.Helper()
	return i.script("instantiate_end", i.pkg, body)
}

// Rollback is POST …/rollback of an instantiation.
func (i *Instance) Rollback(body map[string]any) error {
	i.Helper()
	if err := i.script("instantiate_rollback_start", i.pkg, body); err != nil {
		return err
	}
	if err := i.undeploy(); err != nil {
		return err
	}
	return i.script("instantiate_rollback_end", i.pkg, body)
}

// unset is the internal error by which operations end that find no Pod.
func unset() error { return fail(500, "Cannot load 'addResources' in the base class") }

// Scale is POST …/scale. Twice: it is retried although nothing failed, which must make no
// difference.
func (i *Instance) Scale(kind, aspect string, steps int) error {
	i.Helper()
	limit, known := i.pkg.VNFD.max[aspect]
	change := steps
	if kind == "SCALE_IN" {
		change = -steps
	}
	level := i.Levels[aspect] + change
	switch {
	case !known:
		return fail(400, "there is no aspect %s", aspect)
	case level < 0 || level > limit:
		return fail(400, "scale level %d is out of range", level)
	}
	i.look()
	for unit := range i.pkg.VNFD.deltas[aspect] {
		if i.resources[unit] == "" {
			return unset()
		}
	}
	body := map[string]any{"type": kind, "aspectId": aspect, "numberOfSteps": steps}
	for range 2 {
		if err := i.script("scale_start", i.pkg, body); err != nil {
			return err
		}
		if err := i.resize(aspect, change); err != nil {
			return err
		}
		if err := i.script("scale_end", i.pkg, body); err != nil {
			return err
		}
	}
	i.Levels[aspect] = level
	return nil
}

// Change is POST …/change_vnfpkg to an onboarded package. Of vdu_params at least one needs
// a Pod.
func (i *Instance) Change(to *Package, body map[string]any) error {
	i.Helper()
	more := params(body)
	switch {
	case more["upgrade_type"] != "RollingUpdate":
		return fail(400, "upgrade_type %v", more["upgrade_type"])
	case to.Onboarding != Onboarded || to.Operational != Enabled || to.VNFD.ID != body["vnfdId"]:
		return fail(422, "package %v is not there, or not enabled", body["vnfdId"])
	}
	i.look()
	some := false
	units, _ := more["vdu_params"].([]any)
	for _, one := range units {
		named, _ := one.(map[string]any)
		id := fmt.Sprint(named["vdu_id"])
		if to.VNFD.names[id] == "" {
			return fail(400, "vdu_params: there is no VDU %s", id)
		}
		some = some || i.resources[id] != ""
	}
	if !some {
		return unset()
	}
	if err := i.script("change_current_package_start", to, body); err != nil {
		return err
	}
	if err := i.update(to, more); err != nil {
		return err
	}
	if err := i.script("change_current_package_end", to, body); err != nil {
		return err
	}
	i.k.use(i.pkg, -1)
	i.k.use(to, 1)
	i.pkg, i.VNFDID = to, to.VNFD.ID
	i.look()
	return nil
}

// Terminate is POST …/terminate.
func (i *Instance) Terminate(body map[string]any) error {
	i.Helper()
	if err := i.script("terminate_start", i.pkg, body); err != nil {
		return err
	}
	if err := i.undeploy(); err != nil {
		return err
	}
	if err := i.script("terminate_end", i.pkg, body); err != nil {
		return err
	}
	i.meta, i.resources, i.Levels = nil, nil, nil
	return nil
}

// Delete is DELETE of the instance, which is not instantiated.
func (i *Instance) Delete() error {
	if i.meta != nil {
		return fail(409, "the instance is INSTANTIATED")
	}
	i.k.use(i.pkg, -1)
	return nil
}
