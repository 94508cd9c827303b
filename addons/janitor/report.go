package janitor

import (
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Report is what a dry run found. Lists are cut so that the annotation stays within the size that
// an object may have; counts cover all resources.
type Report struct {
	Cluster string         `json:"cluster"`
	Counts  map[string]int `json:"counts"`
	Delete  []Resource     `json:"delete,omitempty"`
	Keep    []Resource     `json:"keep,omitempty"`
	// Refuse is what may belong to another cluster of the same name, and Foreign what does.
	Refuse  []Resource `json:"refuse,omitempty"`
	Foreign []Resource `json:"foreign,omitempty"`
	// Rivals are the clusters of the same name in the same project.
	Rivals []string `json:"rivals,omitempty"`
}

// reportMost is how many resources each list of a report has.
const reportMost = 200

func newReport(name string, p plan, rivals []string) Report {
	doomed := append(append([]Resource{}, p.remove...), p.wait...)
	r := Report{Cluster: name, Rivals: rivals,
		Counts: map[string]int{"delete": len(doomed), "keep": len(p.keep), "refuse": len(p.refuse), "foreign": len(p.foreign)}}
	cut := func(resources []Resource) []Resource { return resources[:min(len(resources), reportMost)] }
	r.Delete, r.Keep, r.Refuse, r.Foreign = cut(doomed), cut(p.keep), cut(p.refuse), cut(p.foreign)
	return r
}

// write puts the report into the annotation, if it says something new.
func (r *reconciler) write(ctx context.Context, t target, report Report) error {
	text, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if t.annotation(ReportAnnotation) == string(text) {
		return nil
	}
	before := t.object.DeepCopy()
	annotations := t.object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ReportAnnotation] = string(text)
	t.object.SetAnnotations(annotations)
	if err := r.client.Patch(ctx, t.object, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
