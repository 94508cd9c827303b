package recovery

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const rerun = "run the same command again: it restores what is missing"

// complete: every object of the plan is there, is the restored one, and has its status.
func (e Evidence) complete() Check {
	c := Check{ID: "objects", Claim: "every object of the backup is there, with its status"}
	uids := UIDs{}
	for old, live := range e.index.restored {
		uids[old] = live.GetUID()
	}
	for _, step := range e.Plan.Steps {
		for _, o := range step {
			c.Checked++
			live := e.index.restored[o.GetUID()]
			if live == nil {
				c.at(o, rerun, "it is not there")
				continue
			}
			wanted, has := Status(o, live, uids)
			if now, _ := live.Object["status"].(map[string]any); has && strings.Contains(group(o), ".") && live.GetUID() != o.GetUID() && !Has(now, wanted) {
				c.at(o, rerun, "its status is not that of the backup")
			}
		}
	}
	return c.settled(Refuted)
}

// paused: nothing that was restored can be acted on yet.
func (e Evidence) paused() Check {
	c := Check{ID: "paused", Claim: "every cluster and addon waits"}
	for _, o := range e.index.ours {
		if !Hold(o.DeepCopy()) {
			continue
		}
		c.Checked++
		if !Held(o) || is(o, groupClusterAPI, "Cluster") && !flag(o, "spec", "paused") {
			c.at(o, "find out who ended the pause; pause it again, then run the same command again", "it is not paused")
		}
	}
	return c.settled(Refuted)
}

// owners: every owner reference of what was restored leads to the owner that it names.
func (e Evidence) owners() Check {
	c := Check{ID: "owners", Claim: "owner references resolve"}
	for _, o := range e.index.ours {
		for _, r := range o.GetOwnerReferences() {
			c.Checked++
			owner := e.index.byUID[r.UID]
			if owner == nil && !e.listed(r.Kind) {
				continue // an owner of a kind that the backup does not have; restore found it
			}
			if owner == nil || owner.GetKind() != r.Kind || owner.GetName() != r.Name {
				c.at(o, rerun, "its owner %s %s is not there", r.Kind, r.Name)
			}
		}
	}
	c.Findings = append(c.Findings, e.Plan.Dangling...)
	level := Refuted
	if len(c.Findings) == len(e.Plan.Dangling) && !e.danglingGraph() {
		level = Warned
	}
	return c.settled(level)
}

// danglingGraph reports whether an object of Cluster API's own lost an owner: its
// controllers decide by owners. Secrets and ConfigMaps do no harm without.
func (e Evidence) danglingGraph() bool {
	for _, f := range e.Plan.Dangling {
		if !strings.HasPrefix(f.Object, kindSecret+" ") && !strings.HasPrefix(f.Object, kindConfigMap+" ") {
			return true
		}
	}
	return false
}

// listed reports whether live objects of a kind were listed.
func (e Evidence) listed(kind string) bool {
	for _, step := range e.Plan.Steps {
		if len(step) > 0 {
			for _, o := range step {
				if o.GetKind() == kind {
					return true
				}
			}
		}
	}
	return false
}

// referred: what specs name is there: templates, configurations, Secrets, ConfigMaps.
func (e Evidence) referred() Check {
	c := Check{ID: "references", Claim: "templates, Secrets and ConfigMaps that are named exist"}
	for _, o := range e.index.ours {
		for _, r := range References(o) {
			c.Checked++
			if e.index.byName[r] == nil {
				c.at(o, "create it, or use a backup that has it", "%s, which it names, is not there", r)
			}
		}
	}
	return c.settled(Refuted)
}

// releases: the record of every Helm release can be read.
func (e Evidence) releases() Check {
	c := Check{ID: "releases", Claim: "Helm releases can be read"}
	for _, o := range e.index.ours {
		if o.GetKind() != kindSecret || str(o, "type") != "helm.sh/release.v1" {
			continue
		}
		c.Checked++
		if err := readRelease(o); err != nil {
			c.at(o, "use an older backup", "%v", err)
		}
	}
	return c.settled(Refuted)
}

// readRelease decodes a release as Helm stores it: base64 of gzip of JSON, in a
// Secret, which is base64 again.
func readRelease(o *unstructured.Unstructured) error {
	outer, err := base64.StdEncoding.DecodeString(str(o, "data", "release"))
	if err != nil {
		return fmt.Errorf("the release is no base64: %w", err)
	}
	inner, err := base64.StdEncoding.DecodeString(string(outer))
	if err != nil {
		return fmt.Errorf("the release is no base64: %w", err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(inner))
	if err != nil {
		return fmt.Errorf("the release is not compressed: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, 64<<20))
	if err != nil {
		return fmt.Errorf("the release is cut off: %w", err)
	}
	var release struct {
		Name  string          `json:"name"`
		Chart json.RawMessage `json:"chart"`
	}
	if err := json.Unmarshal(text, &release); err != nil {
		return fmt.Errorf("the release is no JSON: %w", err)
	}
	if release.Name == "" || len(release.Chart) == 0 || !strings.HasPrefix(o.GetName(), "sh.helm.release.v1."+release.Name+".v") {
		return errors.New("the release is that of another one, or has no chart")
	}
	return nil
}

func flag(o *unstructured.Unstructured, path ...string) bool {
	value, _, _ := unstructured.NestedBool(o.Object, path...)
	return value
}
