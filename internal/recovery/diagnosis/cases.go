package diagnosis

import (
	"errors"
	"fmt"
	"strings"
)

// seedless judges an environment whose seed is gone.
func (s Seen) seedless(v Verdict) (Verdict, error) {
	answers := s.ManagementProblem == ""
	running, _ := s.alive()
	make := "make the seed again with slipway up"
	switch {
	case s.FromSnapshot:
		return v, ask("--etcd-snapshot", errors.New("the seed is gone, and etcd is reached through it"), "run slipway recover without the flag first: it brings the seed back")
	case len(s.ControlPlanes) == 0 && !answers:
		return s.headless(v)
	case s.Volume && (answers || len(running) == s.Wanted):
		return v.as(Seed, make+"; its data volume has all that it knew", "wait until the management cluster is ready"), nil
	case s.Volume:
		return v, ask("seed and control plane", fmt.Errorf("the seed is gone, and only %d of %d control plane servers run: slipway up would wait for the management cluster forever", len(running), s.Wanted),
			"decide: if the servers can be started, start them and run the same command again; if not, delete those that are left, and the same command rebuilds everything from the backup")
	case s.Pivoted && answers:
		return v.as(Seed, make+", with a new data volume: the management cluster has its own objects", "wait until the management cluster is ready"), nil
	case s.Pivoted:
		return v, ask("seed", errors.New("it is gone, and the management cluster, which has its own objects, does not answer without it"),
			"decide: if the management cluster works, give its API a floating IP or run this command where it is reached; if it is lost, delete its servers, and the same command rebuilds everything from the backup")
	case s.Datastore && len(running) > 0:
		return v.as(Datastore, make+", with a new data volume", "put the datastore of the backup on it before its controllers start", "wait until the management cluster is ready"), nil
	}
	if !s.Backup {
		return v, ask("seed", errors.New("it is gone with its data volume, which had the objects of the management cluster, and no backup was read that could have a copy"),
			"name the private age key with --identity, then run the same command again")
	}
	return v, ask("seed", errors.New("it is gone with its data volume, which had the objects of the management cluster, and the backup has no copy of its datastore"),
		"use a backup that has one with --at or --from; without one, slipway up would make a second management cluster: delete the servers of the first, and this command rebuilds everything from the backup")
}

// headless judges an environment without a control plane server. What is left of it knows the
// dead cluster and would go on waiting for it, or has the names of what a rebuild makes.
func (s Seen) headless(v Verdict) (Verdict, error) {
	left := s.Workers
	if s.Seed != nil {
		left = append([]Server{*s.Seed}, left...)
	}
	var commands []string
	if len(left) > 0 {
		commands = append(commands, "openstack server delete --wait "+ids(left))
	}
	if s.Volume {
		commands = append(commands, "openstack volume delete "+s.VolumeID)
	}
	if len(commands) > 0 {
		return v, ask("management cluster", errors.New("no control plane server is left, so only a full rebuild from the backup helps, and the seed or machines of the former management cluster are still there"),
			"workload clusters do not need them: check that you have a backup, delete them with "+strings.Join(commands, " and ")+", then run the same command again")
	}
	return v.as(Rebuild, rebuilding()...), nil
}

// silentSeed judges a seed that is there and does not answer.
func (s Seen) silentSeed() error {
	object, cause := "seed "+s.Seed.Name, errors.New(s.SeedProblem)
	switch s.Seed.State {
	case "SHELVED", "SHELVED_OFFLOADED":
		return ask(object, errors.New("it is shelved, and every repair goes through it"), "run slipway seed wake, then the same command again")
	case "ACTIVE":
		return ask(object, fmt.Errorf("its server runs, and Kubernetes on it does not answer: %w", cause), "decide: see slipway logs --console and slipway logs k3s; if it cannot be repaired, delete the server with openstack server delete "+s.Seed.ID+": its data volume stays, and the same command makes the seed again")
	case "SHUTOFF", "PAUSED", "SUSPENDED":
		return ask(object, fmt.Errorf("its server is %s", s.Seed.State), "start it with openstack server start "+s.Seed.ID+", then run the same command again")
	}
	return ask(object, fmt.Errorf("its server is %s", s.Seed.State), "decide: repair the server, or delete it with openstack server delete "+s.Seed.ID+": its data volume stays, and the same command makes the seed again")
}

// silentManagement judges a management cluster that does not answer while the seed does.
func (s Seen) silentManagement(v Verdict) (Verdict, error) {
	running, stopped := s.alive()
	if len(s.ControlPlanes) == 0 {
		return s.headless(v)
	}
	if len(stopped) > 0 {
		return v, ask("control plane", fmt.Errorf("%s", counted(stopped)), "start them with openstack server start "+ids(stopped)+", then run the same command again; a server that cannot be started counts as lost when you have deleted it")
	}
	if len(s.ControlPlanes)*2 > s.Wanted && s.Wanted > 1 {
		return v, ask("control plane", fmt.Errorf("%d of %d servers run, enough for etcd, and the API does not answer: this can be the load balancer, the network, or damaged data of etcd", len(running), s.Wanted),
			"decide: see slipway why. If the data of etcd are damaged everywhere, keep the best server, delete the others, and run slipway recover --etcd-snapshot: it restores the last snapshot there. If no server is worth keeping, delete all, and slipway recover rebuilds everything from the backup")
	}
	if len(running) > 1 && s.Survivor == "" {
		return v, ask("control plane", fmt.Errorf("%s, and no quorum", counted(running)), "decide which server has the newest data, and name it with --survivor; the others are replaced")
	}
	v.Survivor = running[0]
	for _, one := range running {
		if s.Survivor != "" && (one.Name == s.Survivor || one.ID == s.Survivor) {
			v.Survivor = one
		}
	}
	if s.Survivor != "" && v.Survivor.Name != s.Survivor && v.Survivor.ID != s.Survivor {
		return v, ask("--survivor "+s.Survivor, errors.New("no running control plane server has this name or ID"), "choose one of those that are printed above")
	}
	if len(running) > 1 {
		return v, ask("--survivor "+s.Survivor, errors.New("another server runs with the data of the same cluster, and both would answer"), "delete the others with openstack server delete "+ids(without(running, v.Survivor))+", then run the same command again")
	}
	return s.quorum(v)
}

// quorum judges a cluster of which one server is left.
func (s Seen) quorum(v Verdict) (Verdict, error) {
	rejoin := []string{"delete the Machines whose servers are gone, so that others take their place", "wait until all control planes have joined and everything is ready"}
	switch {
	case s.FromSnapshot:
		return v.as(Snapshot, append([]string{"stop etcd on " + v.Survivor.Name + ", put the data of the backup's etcd snapshot in its place, and start it as a cluster of one; its own data stay beside"}, rejoin...)...), nil
	case s.Wanted == 1:
		return v, ask("control plane", errors.New("its only server runs, and the API does not answer"), "decide: see slipway why and the machine's console. If the data of etcd are damaged, run slipway recover --etcd-snapshot; if the machine is beyond repair, delete it, and slipway recover rebuilds everything from the backup")
	}
	return v.as(Quorum, append([]string{"stop etcd on " + v.Survivor.Name + ", make a cluster of one of its own data, and start it; the data of before stay beside"}, rejoin...)...), nil
}

func without(list []Server, one Server) (rest []Server) {
	for _, other := range list {
		if other.ID != one.ID {
			rest = append(rest, other)
		}
	}
	return rest
}

func counted(list []Server) string {
	var words []string
	for _, one := range list {
		words = append(words, one.Name+" is "+one.State)
	}
	return strings.Join(words, ", ")
}

func ids(list []Server) string {
	var words []string
	for _, one := range list {
		words = append(words, one.ID)
	}
	return strings.Join(words, " ")
}
