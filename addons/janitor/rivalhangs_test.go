package janitor

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestManyRivalsWhoseCloudsHang leave time for the attempt: what is the cluster's for sure goes.
func TestManyRivalsWhoseCloudsHang(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.AttemptTime = 8 * time.Second })
	one := w.cluster("team-a", "prod")
	silent := strings.ReplaceAll(w.clouds(w.credential(false)), w.cloud.URL(), silentServer(t))
	for n := range 3 {
		namespace := fmt.Sprintf("team-%d", n)
		w.cluster(namespace, "prod")
		w.secret(namespace, "prod-cloud-credentials", silent, nil)
	}
	mine, volume := one.service("web"), one.volume(nil)
	one.delete()
	one.held(ReasonNameConflict, "prod may be in the same project", volume)
	absent(t, "its load balancer", w.getBalancer(mine.balancer))
	absent(t, "its floating IP", w.getAddress(mine.address))
	present(t, "the volume of either", w.getVolume(volume))
}
