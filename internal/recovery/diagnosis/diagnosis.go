// Package diagnosis judges what of an environment is lost, and chooses the smallest
// repair that is safe. It is a function of what the state, the cloud and the clusters
// said, so that a test shows every case.
package diagnosis

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Server is a server of the environment in the cloud.
type Server struct{ Name, ID, State string }

// live reports whether the server runs.
func (s Server) live() bool { return s.State == "ACTIVE" }

// Seen is what was asked and answered. The cloud answered completely, or there is no
// diagnosis.
type Seen struct {
	Environment string
	// Known says that the state has an environment with a management cluster.
	Known bool
	// Pivoted says that the management cluster's objects are on itself.
	Pivoted bool
	// Local says that the environment has no seed server: its seed is a container, which
	// goes when the objects are on the management cluster.
	Local bool
	// Seed is the seed's server, nil if it is gone; Volume says that its data volume is there.
	Seed     *Server
	Volume   bool
	VolumeID string
	// SeedProblem is why the Kubernetes on the seed does not answer; "" if it does.
	SeedProblem string
	// Backup says that a backup was read, Datastore that it has the datastore of the seed.
	Backup, Datastore bool
	// ManagementProblem is why the management cluster's API does not answer; "" if it does.
	ManagementProblem string
	// ControlPlanes are the servers of the control plane that the cloud has; Wanted is
	// how many there should be.
	ControlPlanes []Server
	Wanted        int
	// Workers are the management cluster's other servers.
	Workers []Server
	// Dead are Machines whose server the cloud does not have, by name; Unready is what
	// the management cluster waits for, "" if nothing.
	Dead    []string
	Unready string
	// FromSnapshot is the operator's wish to use an etcd snapshot, Survivor the server
	// that the operator chose.
	FromSnapshot bool
	Survivor     string
}

// Repair is what is to be done.
type Repair string

// The repairs, the smallest first.
const (
	// Nothing is lost.
	Nothing Repair = "nothing"
	// Wait for Cluster API, which replaces machines by itself.
	Wait Repair = "wait"
	// Seed makes the seed again on its data volume, or without one that is needed.
	Seed Repair = "seed"
	// Datastore makes the seed again and puts its datastore back.
	Datastore Repair = "seed and datastore"
	// Quorum makes the only control plane server left a cluster of its own.
	Quorum Repair = "quorum"
	// Snapshot is Quorum with the data of an etcd snapshot.
	Snapshot Repair = "etcd snapshot"
	// Rebuild makes everything again from a backup.
	Rebuild Repair = "rebuild"
)

// Verdict is the end of a diagnosis.
type Verdict struct {
	Repair Repair `json:"repair"`
	// Pivoted is that of Seen.
	Pivoted bool `json:"pivoted"`
	// Found is what is lost and what is there, Will what the repair does, in order.
	Found []string `json:"found"`
	Will  []string `json:"will"`
	// Survivor is the control plane server on which etcd is repaired.
	Survivor Server `json:"survivor,omitzero"`
}

// Judge chooses the repair. It is an error, with what to do or decide, if nothing can
// be done safely: causes that look the same need different repairs.
func (s Seen) Judge() (Verdict, error) {
	v := Verdict{Found: s.found(), Pivoted: s.Pivoted}
	if !s.Known {
		return v.as(Rebuild, rebuilding()...), nil
	}
	if s.Local {
		return s.local(v)
	}
	if s.Seed == nil {
		return s.seedless(v)
	}
	if s.SeedProblem != "" {
		return v, s.silentSeed()
	}
	if s.ManagementProblem != "" {
		return s.silentManagement(v)
	}
	return s.answering(v)
}

// answering judges a management cluster that answers.
func (s Seen) answering(v Verdict) (Verdict, error) {
	switch {
	case s.FromSnapshot:
		return v, ask("--etcd-snapshot", errors.New("the management cluster answers, and a snapshot would take it back in time"), "leave the flag out; a cluster that is missing comes back with slipway recover --cluster NAME")
	case len(s.Dead) > 0 || s.Unready != "":
		return v.as(Wait, "wait while Cluster API replaces what is missing: its health check and its control plane controller do it by themselves", "prove that every Machine has a live server and all parts are ready"), nil
	}
	return v.as(Nothing), nil
}

func (v Verdict) as(r Repair, will ...string) Verdict {
	v.Repair, v.Will = r, will
	return v
}

// alive are the control plane servers that run.
func (s Seen) alive() (running, stopped []Server) {
	for _, one := range s.ControlPlanes {
		if one.live() {
			running = append(running, one)
		} else {
			stopped = append(stopped, one)
		}
	}
	return running, stopped
}

// found describes what was seen.
func (s Seen) found() []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if !s.Known {
		say("the state knows no management cluster")
	}
	switch {
	case s.Local:
		say("there is no seed server: the seed is a container of this machine, and only there while it is needed")
	case s.Seed == nil:
		say("the seed's server is gone")
	case s.SeedProblem != "":
		say("the seed %s is %s and its Kubernetes does not answer: %s", s.Seed.Name, s.Seed.State, s.SeedProblem)
	default:
		say("the seed %s is %s and answers", s.Seed.Name, s.Seed.State)
	}
	switch {
	case s.Local:
	case s.Volume:
		say("the seed's data volume is there")
	default:
		say("the seed's data volume is gone")
	}
	if s.ManagementProblem == "" {
		say("the management cluster answers")
	} else {
		say("the management cluster does not answer: %s", s.ManagementProblem)
	}
	var names []string
	for _, one := range s.ControlPlanes {
		names = append(names, one.Name+" "+one.State)
	}
	say("%s", strings.TrimSpace(fmt.Sprintf("control plane servers: %d of %d %s", len(s.ControlPlanes), s.Wanted, strings.Join(names, ", "))))
	if len(s.Dead) > 0 {
		say("Machines without a server: %s", strings.Join(s.Dead, ", "))
	}
	if s.Unready != "" {
		say("not ready: %s", s.Unready)
	}
	return all
}

// ask is a stop with what the operator has to do or to decide.
func ask(object string, cause error, question string) error {
	return fault.Usage(object, cause, question)
}

func rebuilding() []string {
	return []string{"make a new seed and a new management cluster", "restore all objects of the backup, paused", "prove that nothing in the cloud would change", "unpause in waves"}
}
