package preflight

import (
	"errors"
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestACatalogThatRefusesIsAFinding, with the words and the fix of the refusal.
func TestACatalogThatRefusesIsAFinding(t *testing.T) {
	t.Parallel()
	said := fault.Usage("spec.magnum.adminCloud", errors.New("it is not an administrator"), "name another")
	for name, test := range map[string]struct {
		catalog error
		skip    []string
		want    []Finding
	}{
		"nobody asked, or it is free": {},
		"a refusal":                   {catalog: said, want: []Finding{{ID: "catalog", Level: Error, Object: "spec.magnum.adminCloud", Cause: "it is not an administrator", Remedy: "name another"}}},
		"an error of Keystone":        {catalog: errors.New("it is down"), want: []Finding{{ID: "catalog", Level: Error, Object: "service container-infra", Cause: "it is down"}}},
		"one that is skipped":         {catalog: said, skip: []string{CatalogCheck}},
	} {
		r := Run(Input{Environment: environment(t, ""), Snapshot: healthy(), Now: now, Catalog: test.catalog, Skip: test.skip})
		got := slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.ID != CatalogCheck })
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
