package target

import (
	"errors"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
)

// answer is what Keystone returns with a token.
type answer struct{ project *tokens.Project }

func (answer) ExtractTokenID() (string, error)            { return "token", nil }
func (answer) ExtractUser() (*tokens.User, error)         { return &tokens.User{ID: "user"}, nil }
func (a answer) ExtractProject() (*tokens.Project, error) { return a.project, nil }
func (answer) ExtractServiceCatalog() (*tokens.ServiceCatalog, error) {
	return &tokens.ServiceCatalog{}, nil
}

// TestALoginMayHaveNoProject: one for a domain, as administrators have, is told so by commands
// that no preflight check precedes.
func TestALoginMayHaveNoProject(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		project *tokens.Project
		want    string
	}{"of a project": {&tokens.Project{ID: "p1"}, "p1"}, "of a domain": {nil, ""}} {
		provider := &gophercloud.ProviderClient{}
		if err := provider.SetTokenAndAuthResult(answer{test.project}); err != nil {
			t.Fatal(err)
		}
		got, err := ProjectID(&cloud.Cloud{Name: "sandbox", Provider: provider})
		if got != test.want || (err == nil) != (test.project != nil) || err != nil && (!errors.Is(err, errNoProject) || fault.Remedy(err) == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
