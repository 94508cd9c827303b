package loadbalancer

import (
	"path"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// checkRefs refuses a listener whose certificates are not in the key manager,
// or not in a place that its project can read.
func (s *service) checkRefs(r store.Reader, l model.Listener) error {
	refs := append([]string{text(l.DefaultTLSContainerRef), text(l.ClientCATLSContainerRef), text(l.ClientCRLContainerRef)}, l.SNIContainerRefs...)
	for _, ref := range refs {
		if ref != "" && !s.readable(r, ref, l.ProjectID) {
			return api.BadRequest("Could not retrieve certificate: ['%s']", ref)
		}
	}
	return nil
}

func (s *service) readable(r store.Reader, ref, projectID string) bool {
	keys, id := s.env.Model.Keys, path.Base(ref)
	if strings.Contains(ref, "/containers/") {
		v, ok := keys.Containers.Get(r, id)
		return ok && (v.ProjectID == projectID || v.ACL != nil)
	}
	v, ok := keys.Secrets.Get(r, id)
	return ok && strings.Contains(ref, "/secrets/") && (v.ProjectID == projectID || v.ACL != nil)
}
