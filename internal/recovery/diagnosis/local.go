package diagnosis

import (
	"errors"
	"fmt"
)

// local judges an environment whose seed is a container. Etcd cannot be repaired there: no
// way leads to a machine of the control plane but the API of the cluster itself.
func (s Seen) local(v Verdict) (Verdict, error) {
	if s.ManagementProblem == "" {
		if !s.Pivoted {
			return v, ask("management cluster", errors.New("a run of slipway up ended before its objects were on itself, and nothing is lost"), "run slipway up on the machine where that run was")
		}
		return s.answering(v)
	}
	if len(s.ControlPlanes) == 0 {
		return s.headless(v)
	}
	running, stopped := s.alive()
	if len(stopped) > 0 {
		return v, ask("control plane", errors.New(counted(stopped)), "start them with openstack server start "+ids(stopped)+", then run the same command again; a server that cannot be started counts as lost when you have deleted it")
	}
	all := append(append([]Server{}, s.ControlPlanes...), s.Workers...)
	return v, ask("control plane", fmt.Errorf("%d of %d servers run, and the API does not answer this machine: this can be the way to it, the load balancer, or etcd, which can be repaired through a seed server only", len(running), s.Wanted),
		"decide: see slipway why, and try from another machine. If the cluster is lost, check that you have a backup, delete its servers with openstack server delete --wait "+ids(all)+", and the same command rebuilds everything from the backup; workload clusters do not need them")
}
