package recovery_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/recovery"
)

func TestCredentialsThatAFormerClusterHasAreNamed(t *testing.T) {
	t.Parallel()
	c := recovery.Shared([]recovery.Login{
		{Cluster: "a/a", Entry: "openstack", CloudsYAML: []byte("clouds: {openstack: {auth: {application_credential_id: id-1, application_credential_secret: deep}}}")},
		{Cluster: "b/b", Entry: "openstack", CloudsYAML: []byte("clouds: {openstack: {auth: {username: me, password: deep}}}")},
		{Cluster: "c/c", Entry: "openstack", CloudsYAML: []byte("clouds: [")},
		{Cluster: "d/d", Err: errors.New("no Secret")},
	})
	if c.State != recovery.Warned || c.Checked != 4 || len(c.Findings) != 3 {
		t.Fatalf("%+v", c)
	}
	for i, want := range []string{"application credential id-1", "user me", "its login"} {
		if f := c.Findings[i]; !strings.Contains(f.Cause, want) || strings.Contains(f.Cause, "deep") || f.Cluster == "" || f.Remedy == "" {
			t.Errorf("%d: %+v", i, f)
		}
	}
	if none := recovery.Shared(nil); none.State != recovery.Passed {
		t.Errorf("no cluster: %+v", none)
	}
}
