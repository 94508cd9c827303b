package diagnosis

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

func server(name, state string) Server { return Server{name, name + "-id", state} }

// whole is an environment of which nothing is lost.
func whole() Seen {
	seed := server("demo-seed", "ACTIVE")
	return Seen{Environment: "demo", Known: true, Seed: &seed, Volume: true, VolumeID: "vol", Backup: true, Wanted: 3,
		ControlPlanes: []Server{server("cp-a", "ACTIVE"), server("cp-b", "ACTIVE"), server("cp-c", "ACTIVE")}}
}

// TestTheSmallestRepairThatIsSafe is the table of what can be lost.
func TestTheSmallestRepairThatIsSafe(t *testing.T) {
	t.Parallel()
	noSeed := func(s *Seen) { s.Seed = nil }
	noVolume := func(s *Seen) { s.Volume = false }
	pivoted := func(s *Seen) { s.Pivoted = true }
	silent := func(s *Seen) { s.ManagementProblem = "connection refused" }
	keeps := func(n int) func(*Seen) { return func(s *Seen) { s.ControlPlanes = s.ControlPlanes[:n] } }
	copied := func(s *Seen) { s.Datastore = true }
	unread := func(s *Seen) { s.Backup = false }
	wish := func(s *Seen) { s.FromSnapshot = true }
	survivor := func(name string) func(*Seen) { return func(s *Seen) { s.Survivor = name } }
	seedIs := func(state string) func(*Seen) {
		return func(s *Seen) {
			one := server("demo-seed", state)
			s.Seed, s.SeedProblem = &one, "no route to host"
		}
	}
	state := func(n int, state string) func(*Seen) { return func(s *Seen) { s.ControlPlanes[n].State = state } }
	for name, test := range map[string]struct {
		lost []func(*Seen)
		want Repair
		// asks are words of the stop: its cause and its remedy.
		asks []string
	}{
		"nothing":                               {nil, Nothing, nil},
		"no state":                              {[]func(*Seen){func(s *Seen) { s.Known = false }}, Rebuild, nil},
		"seed, volume there":                    {[]func(*Seen){noSeed}, Seed, nil},
		"seed, volume there, no way to the API": {[]func(*Seen){noSeed, silent}, Seed, nil},
		"seed of a pivoted cluster":             {[]func(*Seen){noSeed, pivoted}, Seed, nil},
		"seed and volume of a pivoted cluster":  {[]func(*Seen){noSeed, noVolume, pivoted}, Seed, nil},
		"the same, without a way to it":         {[]func(*Seen){noSeed, noVolume, pivoted, silent}, "", []string{"does not answer without it", "decide"}},
		"seed and volume, with a copy":          {[]func(*Seen){noSeed, noVolume, copied}, Datastore, nil},
		"seed and volume, without a copy":       {[]func(*Seen){noSeed, noVolume}, "", []string{"no copy of its datastore", "second management cluster"}},
		"the same, and no backup was read":      {[]func(*Seen){noSeed, noVolume, unread}, "", []string{"no backup was read", "--identity"}},
		"everything":                            {[]func(*Seen){noSeed, noVolume, silent, keeps(0)}, Rebuild, nil},
		"everything, with a copy":               {[]func(*Seen){noSeed, noVolume, silent, keeps(0), copied}, Rebuild, nil},
		"everything but the volume":             {[]func(*Seen){noSeed, silent, keeps(0)}, "", []string{"full rebuild", "volume delete vol"}},
		"everything but a worker":               {[]func(*Seen){noSeed, noVolume, silent, keeps(0), func(s *Seen) { s.Workers = []Server{server("md", "ACTIVE")} }}, "", []string{"server delete --wait md-id"}},
		"seed and quorum":                       {[]func(*Seen){noSeed, silent, keeps(1)}, "", []string{"only 1 of 3", "decide"}},
		"seed, and a snapshot is wished":        {[]func(*Seen){noSeed, silent, keeps(1), wish}, "", []string{"through it", "without the flag"}},
		"shelved seed":                          {[]func(*Seen){seedIs("SHELVED_OFFLOADED")}, "", []string{"shelved", "slipway seed wake"}},
		"stopped seed":                          {[]func(*Seen){seedIs("SHUTOFF")}, "", []string{"SHUTOFF", "server start demo-seed-id"}},
		"hanging seed":                          {[]func(*Seen){seedIs("ACTIVE")}, "", []string{"no route to host", "server delete demo-seed-id"}},
		"broken seed":                           {[]func(*Seen){seedIs("ERROR")}, "", []string{"ERROR", "server delete demo-seed-id"}},
		"one of three":                          {[]func(*Seen){keeps(2), func(s *Seen) { s.Dead = []string{"cp-c"} }}, Wait, nil},
		"not ready yet":                         {[]func(*Seen){func(s *Seen) { s.Unready = "Machine cp-d: Provisioning" }}, Wait, nil},
		"two of three":                          {[]func(*Seen){silent, keeps(1)}, Quorum, nil},
		"two of three, pivoted":                 {[]func(*Seen){silent, keeps(1), pivoted}, Quorum, nil},
		"two of three, with a snapshot":         {[]func(*Seen){silent, keeps(1), wish}, Snapshot, nil},
		"three of three":                        {[]func(*Seen){silent, keeps(0)}, "", []string{"full rebuild", "server delete --wait demo-seed-id and openstack volume delete vol"}},
		"two are stopped only":                  {[]func(*Seen){silent, state(1, "SHUTOFF"), state(2, "SHUTOFF")}, "", []string{"cp-b is SHUTOFF", "server start cp-b-id cp-c-id"}},
		"one gone, one stopped":                 {[]func(*Seen){silent, keeps(2), state(1, "SHUTOFF")}, "", []string{"cp-b is SHUTOFF"}},
		"the last is stopped":                   {[]func(*Seen){silent, keeps(1), state(0, "ERROR")}, "", []string{"cp-a is ERROR"}},
		"all run and do not answer":             {[]func(*Seen){silent}, "", []string{"load balancer", "--etcd-snapshot"}},
		"two run and do not answer":             {[]func(*Seen){silent, keeps(2)}, "", []string{"2 of 3 servers run", "decide"}},
		"all run, and a snapshot is wished":     {[]func(*Seen){silent, wish}, "", []string{"enough for etcd", "delete the others"}},
		"it answers, and a snapshot is wished":  {[]func(*Seen){wish}, "", []string{"back in time", "--cluster"}},
		"the only one":                          {[]func(*Seen){silent, keeps(1), func(s *Seen) { s.Wanted = 1 }}, "", []string{"only server runs", "--etcd-snapshot"}},
		"the only one, with a snapshot":         {[]func(*Seen){silent, keeps(1), wish, func(s *Seen) { s.Wanted = 1 }}, Snapshot, nil},
		"three of five":                         {[]func(*Seen){silent, keeps(2), func(s *Seen) { s.Wanted = 5 }}, "", []string{"no quorum", "--survivor"}},
		"three of five, one chosen":             {[]func(*Seen){silent, keeps(2), survivor("cp-b"), func(s *Seen) { s.Wanted = 5 }}, "", []string{"both would answer", "server delete cp-a-id"}},
		"three of five, a wrong one chosen":     {[]func(*Seen){silent, keeps(2), survivor("cp-x"), func(s *Seen) { s.Wanted = 5 }}, "", []string{"no running control plane server"}},
		"four of five":                          {[]func(*Seen){silent, keeps(1), survivor("cp-a-id"), func(s *Seen) { s.Wanted = 5 }}, Quorum, nil},
	} {
		s := whole()
		for _, lose := range test.lost {
			lose(&s)
		}
		v, err := s.Judge()
		switch {
		case test.asks == nil && (err != nil || v.Repair != test.want):
			t.Errorf("%s: %q, %v", name, v.Repair, err)
		case test.asks != nil && (err == nil || v.Repair != "" || fault.ExitCode(err) != fault.ExitUsage):
			t.Errorf("%s: %q, %v", name, v.Repair, err)
		case test.want != "" && test.want != Nothing && len(v.Will) == 0:
			t.Errorf("%s: says not what it will do", name)
		case (test.want == Quorum || test.want == Snapshot) && v.Survivor.Name != "cp-a":
			t.Errorf("%s: on %+v", name, v.Survivor)
		case len(v.Found) < 4:
			t.Errorf("%s: found %q", name, v.Found)
		}
		for _, word := range test.asks {
			if err != nil && !strings.Contains(err.Error()+" "+fault.Remedy(err), word) {
				t.Errorf("%s: %v (%s) has no %q", name, err, fault.Remedy(err), word)
			}
		}
	}
}

// TestNothingIsRepairedWhileServersCouldComeBack: whatever else is seen, a control
// plane server that is not lost for good never has its quorum taken away.
func TestNothingIsRepairedWhileServersCouldComeBack(t *testing.T) {
	t.Parallel()
	states := []string{"ACTIVE", "SHUTOFF", "ERROR", "BUILD", "UNKNOWN", "gone"}
	for _, a := range states {
		for _, b := range states {
			for _, c := range states {
				s := whole()
				s.ManagementProblem, s.ControlPlanes = "refused", nil
				for i, state := range []string{a, b, c} {
					if state != "gone" {
						s.ControlPlanes = append(s.ControlPlanes, server(string(rune('a'+i)), state))
					}
				}
				v, err := s.Judge()
				alone := len(s.ControlPlanes) == 1 && s.ControlPlanes[0].State == "ACTIVE"
				if (v.Repair == Quorum) != alone {
					t.Errorf("%s %s %s: %q, %v", a, b, c, v.Repair, err)
				}
				if v.Repair == Rebuild {
					t.Errorf("%s %s %s: %q, %v", a, b, c, v.Repair, err)
				}
			}
		}
	}
}
