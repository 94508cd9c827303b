package janitor

import (
	"fmt"
	"testing"
)

// An administrator's credential sees the resources of all projects. Those of
// another that bear the cluster's name are not the cluster's, wherever they are.
func TestAdministratorsSeeLookAlikesAndTouchNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.cluster("team-a", "prod", annotated(VolumesPolicyAnnotation, "delete"))
	theirs := one.service("web") // made by a member of another project than the credential's
	volume := one.volume(nil)
	snapshot := one.snapshot(volume, one.mark())
	w.secret("team-a", "prod-cloud-credentials", fmt.Sprintf(`clouds: {openstack: {region_name: RegionOne, auth: {auth_url: "%s/identity",
  username: admin, password: "%s", project_name: admin, user_domain_name: Default, project_domain_name: Default}}}`, w.cloud.URL(), w.cloud.Passwords().Admin), nil)
	one.delete()
	one.settle()
	present(t, "their load balancer", w.getBalancer(theirs.balancer))
	present(t, "their floating IP", w.getAddress(theirs.address))
	present(t, "their security group", w.getGroup(theirs.group))
	present(t, "their volume", w.getVolume(volume))
	present(t, "their snapshot", w.getSnapshot(snapshot))
}
